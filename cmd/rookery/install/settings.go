package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Setting is a line of a configuration file: a flag and its value.
type Setting struct{ Flag, Value string }

// settings is the step after which a configuration file has these settings. Lines of the operator stay. A file that is
// not there yet begins with the sample.
func settings(name string, sample []byte, wanted []Setting) Step {
	at := filepath.Join(Settings, name)
	// with returns the file as it is to be, and as it is.
	with := func() (next, now []byte, err error) {
		now, err = os.ReadFile(at)
		if errors.Is(err, fs.ErrNotExist) {
			next, err = set(sample, wanted)
			return next, nil, err
		}
		if err == nil {
			next, err = set(now, wanted)
		}
		return next, now, err
	}
	return Step{
		at,
		func(ctx context.Context) (bool, error) {
			next, now, err := with()
			return now != nil && string(next) == string(now), err
		},
		func(context.Context) error {
			next, _, err := with()
			if err != nil {
				return err
			}
			return file{Settings, name, next, readable, "root"}.write()
		},
	}
}

// set adds to a configuration file the settings that it lacks. A setting with another value is the operator's, and an error.
func set(text []byte, wanted []Setting) ([]byte, error) {
	has := map[string]any{}
	if err := yaml.Unmarshal(text, &has); err != nil {
		return nil, fmt.Errorf("want YAML with names of flags and values: %w", err)
	}
	var added strings.Builder
	for _, s := range wanted {
		value, there := has[s.Flag]
		switch {
		case !there:
			line, err := yaml.Marshal(map[string]string{s.Flag: s.Value})
			if err != nil {
				return nil, err
			}
			added.Write(line)
		case fmt.Sprint(value) != s.Value:
			return nil, fmt.Errorf("%s is %v there, and would be %s: remove that line if this host is to have the new value", s.Flag, value, s.Value)
		}
	}
	if added.Len() == 0 {
		return text, nil
	}
	begin := string(text)
	if begin != "" && !strings.HasSuffix(begin, "\n") {
		begin += "\n"
	}
	return []byte(begin + added.String()), nil
}
