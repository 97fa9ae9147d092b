package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"
)

// maxConfiguration bounds a configuration file, in bytes.
const maxConfiguration = 64 << 10

// configurationFlag adds --config: a file with values of the command's flags. The command line and environment variables override them.
func configurationFlag(cmd *cobra.Command) {
	var file string
	cmd.Flags().StringVar(&file, "config", "", "YAML `file` with values of these flags by their names, as in \"name: host-1\"; flags and environment variables override it")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			return nil
		}
		body, err := os.ReadFile(file)
		if err == nil {
			err = configure(cmd.Flags(), body)
		}
		if err != nil {
			return fmt.Errorf("--config %s: %w", file, err)
		}
		return nil
	}
}

// annotationVariable is the annotation of a flag that names the environment variable with its default.
const annotationVariable = "rookery_variable"

// setBy notes the variable that gives the flag its value if the command line does not.
func setBy(flags *pflag.FlagSet, flag, variable string) {
	_ = flags.SetAnnotation(flag, annotationVariable, []string{variable}) // fails only without the flag
}

// configure sets flags to the values of a configuration file.
func configure(flags *pflag.FlagSet, body []byte) error {
	if len(body) > maxConfiguration {
		return fmt.Errorf("the file has %d bytes; the limit is %d", len(body), maxConfiguration)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(body, &document); err != nil {
		return fmt.Errorf("want YAML with names of flags and values: %w", err)
	}
	if len(document.Content) == 0 {
		return nil
	}
	fields := document.Content[0]
	if fields.Kind != yaml.MappingNode {
		return errors.New("want YAML with names of flags and values, as in name: host-1")
	}
	seen, fixed := map[string]bool{}, overridden(flags)
	for pair := range slices.Chunk(fields.Content, 2) {
		key, value := pair[0], pair[1]
		if seen[key.Value] {
			return fmt.Errorf("line %d: %s is repeated", key.Line, key.Value)
		}
		seen[key.Value] = true
		f := flags.Lookup(key.Value)
		if f == nil || slices.Contains(ofCommandLine, key.Value) {
			return fmt.Errorf("line %d: unknown flag %q: see --help for those that a file can set", key.Line, key.Value)
		}
		if fixed[key.Value] {
			continue
		}
		if err := configureFlag(flags, f, value); err != nil {
			return fmt.Errorf("line %d: %w", key.Line, err)
		}
	}
	return nil
}

// ofCommandLine are the flags that a file cannot set.
var ofCommandLine = []string{"config", "help", "utc"}

// ofLink are the flags that say together how to reach the bus.
var ofLink = []string{"server", "creds", "context"}

// overridden returns the flags to which the command line or the environment gives a value. One of those of the link stands for all of them: the
// credentials of a file must not go to the server of a variable.
func overridden(flags *pflag.FlagSet) map[string]bool {
	fixed := map[string]bool{}
	flags.VisitAll(func(f *pflag.Flag) {
		if variable := f.Annotations[annotationVariable]; f.Changed || (len(variable) > 0 && os.Getenv(variable[0]) != "") {
			fixed[f.Name] = true
		}
	})
	if slices.ContainsFunc(ofLink, func(name string) bool { return fixed[name] }) {
		for _, name := range ofLink {
			fixed[name] = true
		}
	}
	return fixed
}

func configureFlag(flags *pflag.FlagSet, f *pflag.Flag, value *yaml.Node) error {
	texts, err := textsOf(value)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	_, list := f.Value.(pflag.SliceValue)
	switch names := f.Value.Type() == "stringToString"; {
	case value.Kind == yaml.SequenceNode && !list:
		return fmt.Errorf("%s: want one value, not a list", f.Name)
	case value.Kind == yaml.MappingNode && !names:
		return fmt.Errorf("%s: want values without names", f.Name)
	}
	for _, text := range texts {
		if err := flags.Set(f.Name, text); err != nil {
			return err
		}
	}
	return nil
}

// textsOf returns a value as the command line gives it: once, once for each of a list, or as name=value for each of several names.
func textsOf(value *yaml.Node) (texts []string, err error) {
	isText := func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag != "!!null" }
	switch {
	case isText(value):
		return []string{value.Value}, nil
	case value.Kind == yaml.SequenceNode && !slices.ContainsFunc(value.Content, func(n *yaml.Node) bool { return !isText(n) }):
		for _, n := range value.Content {
			texts = append(texts, n.Value)
		}
		return texts, nil
	case value.Kind == yaml.MappingNode && !slices.ContainsFunc(value.Content, func(n *yaml.Node) bool { return !isText(n) }):
		for pair := range slices.Chunk(value.Content, 2) {
			texts = append(texts, strings.Join([]string{pair[0].Value, pair[1].Value}, "="))
		}
		return texts, nil
	}
	return nil, errors.New("want a value, a list of values, or names with values")
}
