package main

import (
	"strings"
	"testing"
)

// TestDocumentsSayWhatTheyAre reads handwritten files in both formats.
func TestDocumentsSayWhatTheyAre(t *testing.T) {
	const typed = "kind: service\nname: demo/web\nimage: i:1\n"
	for _, tt := range []struct {
		name, file string
		want       string // the body; or what the error says
	}{
		{"bare JSON", `{"image":"i:1"}`, `{"image":"i:1"}`},
		{"bare YAML", "image: i:1\n", `{"image":"i:1"}`},
		{"of a kind", typed, `{"image":"i:1"}`},
		{"of a kind, as JSON", `{"kind":"service","name":"demo/web","image":"i:1"}`, `{"image":"i:1"}`},
		{"with a line for editors", "# yaml-language-server: $schema=service.json\n---\n" + typed, `{"image":"i:1"}`},
		{"a job", "kind: job\nname: demo/web\nimage: i:1\n", `{"image":"i:1","mode":"job"}`},
		{"of another name", "kind: service\nname: demo/api\nimage: i:1\n", "it is the service demo/api, but the command names demo/web"},
		{"of another kind", "kind: policy\nname: cluster\n", "it is a policy, but this command takes a service or a job"},
		{"of a kind that there is not", "kind: pod\nname: demo/web\n", `unknown kind "pod": want service, job, group, policy`},
		{"without a name", "kind: service\nimage: i:1\n", "a document with a kind needs a name"},
		{"two of them", typed + "---\n" + typed, "it has 2 documents, but this command takes one: use rookery apply"},
		{"a field twice", "image: i:1\nimage: i:2\n", `key "image" already`},
		{"no object", "image", "want JSON or YAML with fields and values"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, err := readOne(strings.NewReader(tt.file), "-", "demo/web", "service", "job")
			got := string(body)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%q is read as %s, want %s", tt.file, got, tt.want)
			}
		})
	}
}

// TestApplyTakesDocuments reads services, jobs and groups from one file into one plan.
func TestApplyTakesDocuments(t *testing.T) {
	const web, batch = "kind: service\nname: demo/web\nimage: i:1\n---\n", "kind: job\nname: demo/batch\nimage: i:1\n---\n"
	for _, tt := range []struct{ name, file, want string }{
		{"services and jobs", web + batch, ""},
		{"a group", "kind: group\nname: demo/shop\nservices:\n  a: {image: i:1}\n  b: {image: i:1, after: [a]}\n", ""},
		{"of two namespaces", web + "kind: service\nname: other/web\nimage: i:1\n", "apply one namespace at a time"},
		{"bare ones between", web + "image: i:1\n", "document 2: it has no kind"},
		{"one twice", web + web, "web is in - too: keep one of them"},
		{"what is wrong in one", web + "kind: job\nname: demo/batch\nimag: i:1\n", `there is no field "imag"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := readWish(t.Context(), strings.NewReader(tt.file), "", []string{"-"})
			switch {
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("the error is %v, want %s", err, tt.want)
			case tt.want == "" && (err != nil || w.namespace != "demo" || len(w.services) != 2):
				t.Errorf("it is read as %v of %s: %v", w.services, w.namespace, err)
			}
		})
	}
}
