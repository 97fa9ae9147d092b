package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// File is one Compose file; its name is "-" for standard input.
type File struct {
	Name string
	Body []byte
}

// Source is what Compose files say, read as one project.
type Source struct {
	// model is what all files say together, in the long form of the specification, with the paths as they are written.
	model map[string]any
	// project is the same with paths made absolute, and env_file and label_file read.
	project *types.Project
	where   places
}

// Read reads the files as Compose does: later ones over earlier ones, with the variables of the environment and of a file .env
// beside the first. The name of the project is the one given, or else what the files or the folder say.
func Read(ctx context.Context, files []File, name string) (*Source, error) {
	folder := "."
	if files[0].Name != "-" {
		folder = filepath.Dir(files[0].Name)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	variables, err := environment(folder)
	if err != nil {
		return nil, err
	}
	details := types.ConfigDetails{WorkingDir: folder, Environment: variables}
	for _, f := range files {
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{Filename: f.Name, Content: f.Body})
	}
	options := func(resolve bool) []func(*loader.Options) {
		return []func(*loader.Options){loader.WithDiscardEnvFiles, loader.WithProfiles([]string{"*"}), func(o *loader.Options) {
			o.SetProjectName(loader.NormalizeProjectName(filepath.Base(folder)), false)
			if name != "" {
				o.SetProjectName(name, true)
			}
			o.SkipNormalization, o.SkipDefaultValues, o.ResolvePaths = true, true, resolve
			if !resolve { // what variables are missing has been said already
				o.Interpolate.Substitute = func(text string, mapping template.Mapping) (string, error) {
					return template.SubstituteWithOptions(text, mapping, template.WithoutLogging)
				}
			}
		}}
	}
	resolved := loader.ToOptions(&details, options(true))
	project, err := loader.LoadWithContext(ctx, details, options(true)...)
	if err != nil { // of a key that there is not, the validator says what it is checked against
		return nil, errors.New(strings.ReplaceAll(err.Error(), " false schema", " is no key of the Compose specification"))
	}
	model, err := loader.LoadModelWithContext(ctx, details, options(false)...)
	if err != nil {
		return nil, err
	}
	if given, explicit := resolved.GetProjectName(); explicit {
		project.Name = given
	}
	if !events.ValidName(project.Name) {
		return nil, fmt.Errorf("the project is named %q, which is no namespace: write name: with a-z, 0-9 and \"-\", or give rookery apply the namespace",
			project.Name)
	}
	return &Source{model: model, project: project, where: placesIn(files)}, nil
}

// environment returns the variables for the files: those of the process over those of a file .env in the folder.
func environment(folder string) (types.Mapping, error) {
	variables := types.NewMapping(os.Environ())
	file := filepath.Join(folder, ".env")
	if _, err := os.Stat(file); err != nil {
		return variables, nil //nolint:nilerr // there need not be one
	}
	more, err := dotenv.GetEnvFromFile(variables, []string{file})
	if err != nil {
		return nil, err
	}
	return variables.Merge(more), nil
}

// Is reports whether a file's content is a Compose file: what stands under services is objects alone. A list of services has
// there, if anything, a service that is named so.
func Is(content map[string]any) bool {
	services, ok := content["services"].(map[string]any)
	if !ok {
		_, includes := content["include"].([]any)
		return includes
	}
	for _, s := range services {
		if _, object := s.(map[string]any); !object && s != nil {
			return false
		}
	}
	return true
}

// readConfig returns the value of a config.
func readConfig(c types.ConfigObjConfig, variables types.Mapping) ([]byte, error) {
	switch {
	case c.File != "":
		return os.ReadFile(c.File)
	case c.Environment != "":
		value, there := variables[c.Environment]
		if !there {
			return nil, fmt.Errorf("the environment has no variable %s", c.Environment)
		}
		return []byte(value), nil
	}
	return bytes.Clone([]byte(c.Content)), nil
}

// isRelative reports whether a path is one of the machine that apply runs on.
func isRelative(path string) bool { return !strings.HasPrefix(path, "/") }
