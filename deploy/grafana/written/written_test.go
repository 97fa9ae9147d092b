package written_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rookery-project/rookery/deploy/grafana/written"
)

func TestScreensAreReadWithTheirQueries(t *testing.T) {
	all, err := written.Screens(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 5 {
		t.Errorf("%d screens were read", len(all))
	}
	for _, s := range all {
		queries, err := s.Queries()
		if err != nil {
			t.Error(err)
		}
		of := map[string]int{}
		for _, q := range queries {
			of[q.Where]++
			if q.Expr == "" || of[q.Where] > 1 {
				t.Errorf("%s asks nothing, or stands twice", q.Where)
			}
		}
		for _, p := range s.Panels {
			if of[s.File+", "+p.Title+", A"] == 0 {
				t.Errorf("no query of %q in %s", p.Title, s.File)
			}
		}
		if of[s.File+", annotation Operations"] == 0 {
			t.Errorf("no query of annotations in %s", s.File)
		}
	}
}

func TestAFileThatIsNoScreenIsNamed(t *testing.T) {
	_, err := written.Screens(fstest.MapFS{"broken.json": {Data: []byte(`{"uid":`)}})
	if err == nil || !strings.HasPrefix(err.Error(), "broken.json: ") {
		t.Errorf("the error is %v", err)
	}
	odd := fstest.MapFS{"odd.json": {Data: []byte(`{"templating":{"list":[{"name":"node","type":"query","query":"up"}]}}`)}}
	all, err := written.Screens(odd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all[0].Queries(); err == nil || err.Error() != `odd.json: the variable node asks "up", not for values of a label` {
		t.Errorf("the error is %v", err)
	}
}
