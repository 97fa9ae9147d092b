package bus

import (
	"errors"
	"fmt"
)

// placed adds to an error that finds no stream, or no JetStream, which server was asked. A leaf node may have a JetStream of its own, where
// Rookery's streams are not, or none: then it must know the domain of its hub. INFO does not say whether a server is a leaf node.
func (b *JetStream) placed(err error) error {
	if wrong := b.WrongServer(err); wrong != "" {
		return fmt.Errorf("%w: %s", err, wrong)
	}
	return err
}

// WrongServer says why the server that was asked may be the wrong one, given that the error is ErrNoStream or ErrNoAnswer, and what to do
// then. It returns "" for a server that is not known to be one.
func (b *JetStream) WrongServer(err error) string {
	domain := b.conn.ConnectedDomain()
	has, _ := b.conn.ConnectedServerJetStream()
	switch {
	case errors.Is(err, ErrNoStream) && domain != "":
		return fmt.Sprintf("server %s has a JetStream of its own, with the domain %q: if it is a leaf node, connect to its hub,"+
			" or to a leaf node without JetStream", b.conn.ConnectedServerName(), domain)
	case errors.Is(err, ErrNoAnswer) && b.conn.IsConnected() && !has:
		return fmt.Sprintf("server %s has no JetStream and reaches none: if it is a leaf node, check its link to its hub, and set its default_js_domain"+
			" to the hub's domain",
			b.conn.ConnectedServerName())
	}
	return ""
}
