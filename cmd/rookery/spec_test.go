package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// typed runs the program with these arguments and this standard input, without a cluster.
func typed(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	cmd := root(&link{})
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	err := cmd.Execute()
	return out.String(), err
}

// TestASpecToBeginWithIsValid checks the spec that init prints against the coordinator's rules and the schema for editors.
func TestASpecToBeginWithIsValid(t *testing.T) {
	spec, err := typed(t, "", "init", "demo/web")
	if err != nil {
		t.Fatal(err)
	}
	if said, err := typed(t, spec, "validate", "-"); err != nil || said != "-: service demo/web is valid\n" {
		t.Errorf("validate says %q: %v", said, err)
	}
	everything := strings.ReplaceAll(strings.ReplaceAll(spec, "\n# ", "\n"), "\n#  ", "\n ")
	everything = strings.Replace(everything, "rookery schema service", "# rookery schema service", 1)
	if said, err := typed(t, everything, "validate", "-"); err != nil {
		t.Errorf("with all fields, validate says %q: %v\n%s", said, err, everything)
	}
	for file, refused := range map[string]string{
		everything: "", `{"kind":"service","name":"demo/web","imag":"x"}`: "imag", `{"kind":"job","name":"demo/web","image":"x"}`: "kind",
	} {
		if err := held(t, "service", file); (err == nil) != (refused == "") || (err != nil && !strings.Contains(err.Error(), refused)) {
			t.Errorf("the schema says of %s: %v", file, err)
		}
	}
}

// TestValidateSaysWhatIsWrongWhere checks several documents of one file, without a cluster.
func TestValidateSaysWhatIsWrongWhere(t *testing.T) {
	said, err := typed(t, "kind: service\nname: demo/web\nimage: i:1\n---\nkind: policy\nname: cluster\nprofil: x\n", "validate", "-")
	if said != "-: service demo/web is valid\n" || err == nil || !strings.Contains(err.Error(), `read -, document 2: there is no field "profil"`) {
		t.Errorf("it says %q and %v", said, err)
	}
}

// TestValidateNamesTheWholeField checks a mistake in a part of a spec.
func TestValidateNamesTheWholeField(t *testing.T) {
	_, err := typed(t, "image: i:1\nupdate: {min_helthy: 5s}\n", "validate", "-")
	if err == nil || !strings.Contains(err.Error(), `read -: update.min_helthy: there is no field "min_helthy": did you mean "min_healthy"?`) {
		t.Errorf("it says %v", err)
	}
}

// held checks a file against the schema of a kind of document.
func held(t *testing.T, kind, file string) error {
	t.Helper()
	text, err := typed(t, "", "schema", kind)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	plain := []byte(file)
	if !strings.HasPrefix(file, "{") {
		var content map[string]any
		if err := yaml.Unmarshal(plain, &content); err != nil {
			t.Fatal(err)
		}
		if plain, err = json.Marshal(content); err != nil {
			t.Fatal(err)
		}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}
