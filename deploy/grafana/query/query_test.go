package query_test

import (
	"testing"

	"github.com/rookery-project/rookery/deploy/grafana/query"
)

func TestExpandPutsValuesInThePlaceOfVariables(t *testing.T) {
	vars := map[string]string{"__range": "1h", "node": "a|b"}
	for _, c := range []struct{ expr, want string }{
		{`sum(x{node=~"$node"}[$__range])`, `sum(x{node=~"a|b"}[1h])`},
		{`x{node=~"${node}", other=~"${node:regex}"}`, `x{node=~"a|b", other=~"a|b"}`},
		{`x[$__rate_interval] $nodes`, `x[$__rate_interval] $nodes`},
		{`x`, `x`},
	} {
		if got := query.Expand(c.expr, vars); got != c.want {
			t.Errorf("%s becomes %s, not %s", c.expr, got, c.want)
		}
	}
}
