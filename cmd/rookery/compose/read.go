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

// Source is the content of Compose files, read as one project.
type Source struct {
	// model is all files merged, in the long form of the specification, with paths as written.
	model map[string]any
	// project is the same with absolute paths, and with env_file and label_file read.
	project *types.Project
	where   places
}

// Read reads the files as Compose does: later files override earlier ones. Variables come from the environment and from a file .env
// beside the first file. The project has the given name, or else the name from the files or the folder.
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
			if !resolve { // the first pass has reported unset variables
				o.Interpolate.Substitute = func(text string, mapping template.Mapping) (string, error) {
					return template.SubstituteWithOptions(text, mapping, template.WithoutLogging)
				}
			}
		}}
	}
	resolved := loader.ToOptions(&details, options(true))
	project, err := loader.LoadWithContext(ctx, details, options(true)...)
	if err != nil { // for an unknown key, the validator's error names a schema
		return nil, errors.New(strings.ReplaceAll(err.Error(), " false schema", " is not a key of the Compose specification"))
	}
	model, err := loader.LoadModelWithContext(ctx, details, options(false)...)
	if err != nil {
		return nil, err
	}
	if given, explicit := resolved.GetProjectName(); explicit {
		project.Name = given
	}
	if !events.ValidName(project.Name) {
		return nil, fmt.Errorf("the project's name %q is not a namespace: write name: with a-z, 0-9 and \"-\", or give NAMESPACE to rookery apply",
			project.Name)
	}
	return &Source{model: model, project: project, where: placesIn(files)}, nil
}

// environment returns the variables for the files. Variables of the process override those of a file .env in the folder.
func environment(folder string) (types.Mapping, error) {
	variables := types.NewMapping(os.Environ())
	file := filepath.Join(folder, ".env")
	if _, err := os.Stat(file); err != nil {
		return variables, nil //nolint:nilerr // the file is optional
	}
	more, err := dotenv.GetEnvFromFile(variables, []string{file})
	if err != nil {
		return nil, err
	}
	return variables.Merge(more), nil
}

// Is reports whether a file's content is a Compose file: services holds only objects. A list of services can have a service with the
// name services, but its fields are not all objects.
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

// isRelative reports whether a path is relative to a file on the machine that runs apply.
func isRelative(path string) bool { return !strings.HasPrefix(path, "/") }
