package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	units "github.com/rookery-project/rookery/deploy/package"
)

// Setting is a line of a configuration file: a flag and its value.
type Setting struct{ Flag, Value string }

// settings is the step after which the configuration file of a part has these settings. Lines of the operator stay. A file that is not there yet
// begins with the sample.
func settings(part string, wanted []Setting) (Step, error) {
	name := part + ".yaml"
	sample, err := units.Files.ReadFile(name)
	if err != nil {
		return Step{}, err
	}
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
	}, nil
}

// Named returns the value of a setting in the configuration file of a part; "" where it has none.
func Named(part, flag string) (string, error) {
	text, err := os.ReadFile(filepath.Join(Settings, part+".yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	has := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal(text, &has)
	}
	if value, there := has[flag]; there {
		return fmt.Sprint(value), err
	}
	return "", err
}

// set adds to a configuration file the settings that it lacks. A setting with another value is the operator's, and an error.
func set(text []byte, wanted []Setting) ([]byte, error) {
	has := map[string]any{}
	if err := yaml.Unmarshal(text, &has); err != nil {
		return nil, fmt.Errorf("want YAML with names of flags and values: %w", err)
	}
	if err := oneWay(has, wanted); err != nil {
		return nil, err
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

// ways are the flags that say how to reach the bus.
var ways = []string{"server", "creds", "context"}

// oneWay returns an error if a file says how to reach the bus in another way than the settings do: a program would take one of them.
func oneWay(has map[string]any, wanted []Setting) error {
	is := func(flag string) bool {
		return slices.ContainsFunc(wanted, func(s Setting) bool { return s.Flag == flag })
	}
	if !slices.ContainsFunc(ways, is) {
		return nil
	}
	for _, flag := range ways {
		if value, there := has[flag]; there && !is(flag) {
			return fmt.Errorf("%s is %v there: remove that line if this host is to reach the bus in another way", flag, value)
		}
	}
	return nil
}
