package podman

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rookery-project/rookery/node"
)

// config is the content of a file that a container gets. Podman reads it from a secret of its store, and copies that to the container's
// own files when it creates the container. Podman never reads the secret again, so the secret exists only for that moment.
type config struct {
	name    string
	secret  string
	content []byte
}

// unmakeTimeout bounds the removal of a config's secret. The removal also runs after the call that created the secret was cancelled.
const unmakeTimeout = 10 * time.Second

// withConfigs adds the plan's configs to the files of its containers. The names of their secrets are unique to the instance, and the
// node can recognise them: secrets have no labels in Podman 4.3.
func (r createRequest) withConfigs(plan node.Plan) createRequest {
	user, group := owner(plan.Order.Spec.User)
	for i, c := range plan.Order.Spec.Configs {
		name := configSecrets(plan.Owner) + digestOf(plan.Instance.String())[:idDigits] + "." + strconv.Itoa(i)
		mode, _ := strconv.ParseUint(c.Mode, 8, 32) // the spec's rules hold it to octal digits
		r.Files = append(r.Files, secret{Source: name, Target: c.Path, UID: user, GID: group, Mode: uint32(mode)})
		r.configs = append(r.configs, config{c.Name, name, plan.Configs[c.Name]})
	}
	return r
}

// configSecrets is the prefix of the names of the secrets for the owner's configs. Podman limits such a name to 64 bytes.
func configSecrets(owner node.Owner) string {
	return "rookery." + digestOf(owner.Cluster)[:idDigits] + "." + digestOf(owner.Node)[:idDigits] + "."
}

// makeConfigs creates the secrets of configs. It replaces those that an earlier call has left.
func (e *Engine) makeConfigs(ctx context.Context, configs []config) error {
	for _, c := range configs {
		err := e.makeSecret(ctx, c)
		refused := new(refusal)
		if errors.As(err, &refused) && refused.says("secret name in use") {
			if err = e.removeSecret(ctx, c.secret); err == nil {
				err = e.makeSecret(ctx, c)
			}
		}
		switch {
		case errors.As(err, &refused):
			return createFailed("config " + c.name + ": " + refused.Message)
		case err != nil:
			return fmt.Errorf("making a secret of config %s: %w", c.name, err)
		}
	}
	return nil
}

func (e *Engine) makeSecret(ctx context.Context, c config) error {
	return e.do(ctx, request{
		method: http.MethodPost, path: "/secrets/create", query: url.Values{"name": {c.secret}}, body: bytes.NewReader(c.content),
	}, nil)
}

// unmakeConfigs removes the secrets of configs. If a removal fails, the node removes the secret when it restarts.
func (e *Engine) unmakeConfigs(ctx context.Context, configs []config) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unmakeTimeout)
	defer cancel()
	for _, c := range configs {
		_ = e.removeSecret(ctx, c.secret)
	}
}

func (e *Engine) removeSecret(ctx context.Context, name string) error {
	err := e.do(ctx, request{method: http.MethodDelete, path: "/secrets/" + name}, nil)
	if refused := new(refusal); errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return nil
	}
	return err
}

// tidyConfigs removes the secrets of the owner's configs that a killed process has left.
func (e *Engine) tidyConfigs(ctx context.Context, owner node.Owner) error {
	var all []struct {
		Spec struct{ Name string }
	}
	if err := e.do(ctx, request{method: http.MethodGet, path: "/secrets/json"}, &all); err != nil {
		return fmt.Errorf("listing secrets: %w", err)
	}
	for _, s := range all {
		if !strings.HasPrefix(s.Spec.Name, configSecrets(owner)) {
			continue
		}
		if err := e.removeSecret(ctx, s.Spec.Name); err != nil {
			return fmt.Errorf("removing secret %s: %w", s.Spec.Name, err)
		}
	}
	return nil
}
