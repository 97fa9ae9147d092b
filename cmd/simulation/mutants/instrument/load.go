package instrument

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// listed is what go list tells of a package.
type listed struct {
	ImportPath string
	Dir        string
	Export     string
	GoFiles    []string
	DepOnly    bool
}

// list returns the packages, and what they depend on, with the files of export data that the type checker reads.
func list(ctx context.Context, root string, packages []string) ([]listed, error) {
	args := []string{"list", "-trimpath", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), "CGO_ENABLED=0"), &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w\n%s", err, said.Bytes())
	}
	var all []listed
	for d := jsontext.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := json.UnmarshalDecode(d, &p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("list packages: %w", err)
		}
		all = append(all, p)
	}
}

// checked is a package with its types.
type checked struct {
	path  string
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// check reads a package and finds its types. It reads what the package imports from export data.
func check(p listed, exports map[string]string) (checked, error) {
	c := checked{path: p.ImportPath, fset: token.NewFileSet(), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
	}}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return c, err
		}
		c.files = append(c.files, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(c.fset, "gc", open)}
	_, err := config.Check(p.ImportPath, c.fset, c.files, c.info)
	return c, err
}
