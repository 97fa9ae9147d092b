package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/schemas"
)

// template is the spec that `rookery init` prints.
const template = `# yaml-language-server: $schema=service.schema.json
# rookery schema service > service.schema.json gives editors the schema of this file.
kind: service
name: %s

image: %s            # the only required field
scale: 1             # number of instances

# ports:
#   - {name: http, port: 8080}      # a name, and the port inside the container; the node picks a free host port
# env:
#   LOG_LEVEL: info
# health:
#   http: {port: http, path: /}     # an instance serves once this answers with 200 to 399
# resources: {cpu: 500m, memory: 256MiB}
# volumes:
#   - {name: data, path: /data}
# update:
#   parallelism: 1                  # slots in each wave
#   canaries: 1                     # slots that go first, until rookery promote
#   on_failure: rollback            # pause (default), continue or rollback
`

func initCommand() *cobra.Command {
	var image string
	cmd := &cobra.Command{
		Use:   "init NAMESPACE/NAME",
		Short: "Print a commented spec to start from",
		Long:  "Print a commented spec of a service, which you edit and deploy with rookery apply. It needs no cluster.",
		Example: `  rookery init demo/web --image localhost/web:1 > web.yaml
  rookery apply -f web.yaml`,
		Args: arguments("NAMESPACE/NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := events.ParseServiceID(args[0])
			if err != nil {
				return usage(cmd, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), template, id, image)
			return err
		},
	}
	cmd.Flags().StringVar(&image, "image", "localhost/web:1", "container image")
	return cmd
}

func validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check files without a cluster",
		Long: `Check files with the coordinator's own rules, except rules that depend on the state of a cluster. It needs no cluster. A document
without a kind counts as the spec of a service.

Exit codes: 0 all files are valid, 1 a file is unreadable or invalid, 2 wrong usage.`,
		Example: `  rookery validate web.yaml shop.yaml
  rookery init demo/web | rookery validate -`,
		Args: usageOf(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			var wrong []error
			for _, file := range files {
				all, err := readDocuments(cmd.InOrStdin(), file)
				wrong = append(wrong, err)
				for i, d := range all {
					err := located(d.check())
					wrong = append(wrong, inDocument(file, i, err))
					if err == nil {
						fmt.Fprintf(cmd.OutOrStdout(), "%s: %s is valid\n", file, d)
					}
				}
			}
			return errors.Join(wrong...)
		},
	}
}

// String returns the kind and the name of a document.
func (d document) String() string {
	if d.kind == "" {
		return "a service without a kind and a name"
	}
	return d.kind + " " + d.name
}

// check checks a document by the rules of its kind.
func (d document) check() error {
	switch d.kind {
	case "policy":
		_, err := events.ParseClusterPolicy(d.body)
		return err
	case "group":
		_, err := events.ParseGroupEnsure(d.body)
		return err
	}
	name := "demo/it"
	if d.kind != "" {
		name = d.name
	}
	id, err := events.ParseServiceID(name)
	if err != nil {
		return err
	}
	body := d.body
	if d.kind == "job" {
		if body, err = asJob(body); err != nil {
			return err
		}
	}
	r := events.ParseRequest(events.Message{Subject: events.CommandSubject(id, events.ServiceEnsure{}.Kind().Name), Body: body})
	if r.Rejection != nil {
		return r.Rejection
	}
	return nil
}

// documentSchemas maps the kinds of documents to the commands whose bodies they are, which have schemas.
var documentSchemas = map[string]events.Kind{
	"service": events.ServiceEnsure{}.Kind(), "job": events.ServiceEnsure{}.Kind(), "group": events.GroupEnsure{}.Kind(), "policy": events.ClusterPolicy{}.Kind(),
}

func schemaCommand() *cobra.Command {
	known := slices.Sorted(maps.Keys(documentSchemas))
	return &cobra.Command{
		Use:       "schema {" + strings.Join(known, "|") + "}",
		Short:     "Print the JSON Schema of a document, for editors",
		Long:      "Print the JSON Schema of a document. Editors check and complete files that name the schema in their first line.",
		Example:   "  rookery schema service > service.schema.json",
		ValidArgs: known,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || documentSchemas[args[0]].Name == "" {
				return usage(c, fmt.Errorf("schema needs a kind of document: want one of %s", strings.Join(known, ", ")))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return printSchema(cmd.OutOrStdout(), args[0]) },
	}
}

// printSchema prints the schema of a command's body, with the fields kind and name of a document.
func printSchema(out io.Writer, kind string) error {
	body, err := schemas.Files.ReadFile(documentSchemas[kind].SchemaPath())
	if err != nil {
		return err
	}
	var schema map[string]jsontext.Value
	if err := json.Unmarshal(body, &schema); err != nil {
		return err
	}
	var properties map[string]jsontext.Value
	if err := json.Unmarshal(schema["properties"], &properties); err != nil {
		return err
	}
	properties["kind"] = fmt.Appendf(nil, `{"const":%q,"description":"What this document is."}`, kind)
	properties["name"] = jsontext.Value(`{"type":"string","description":"Namespace and name, as demo/web; cluster for a policy."}`)
	if schema["properties"], err = json.Marshal(properties, json.Deterministic(true)); err != nil {
		return err
	}
	return printJSON(out, schema)
}
