package world

import (
	"fmt"
	"slices"
	"strings"
)

// rendered returns what the templates of the instance's spec become by what the log says now, or nil where it has none.
func (k *knowledge) rendered(i *instance) []string {
	s := k.services[i.id.Service]
	if s == nil || !slices.Equal(s.specs[i.revision].Args, templates) {
		return nil
	}
	peers := make([]string, s.scale)
	for _, peer := range k.of(i.id.Service) {
		if peer.runs() && peer.replaces == 0 && int(peer.id.Ordinal) < len(peers) {
			peers[peer.id.Ordinal] = peer.reached("http")
		}
	}
	if int(i.id.Ordinal) < len(peers) && !i.retired {
		peers[i.id.Ordinal] = i.reached("http")
	}
	return []string{fmt.Sprintf("%d at %s", i.id.Ordinal, i.reached("http")), strings.Join(peers, ",")}
}

// reached returns the address of a port, or "" where the instance has none of this name.
func (i *instance) reached(port string) string {
	for _, p := range i.ports {
		if p.Name == port {
			return fmt.Sprintf("%s:%d", i.address, p.HostPort)
		}
	}
	return ""
}
