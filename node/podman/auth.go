package podman

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/rookery-project/rookery/events"
)

const (
	// authHeader carries credentials to Podman's service: JSON by the registry's name, in base64 of URLs.
	authHeader = "X-Registry-Auth"
	// maxAuthFile keeps that header below what Podman's service takes.
	maxAuthFile = 256 << 10
)

// credentials are those of one registry, in the form that Podman's service takes.
type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// authFile is a file of credentials as "podman login --authfile" and "docker login" write it. Errors quote nothing from the file except
// names of registries that match the image, because anything else may be a secret in the wrong place.
type authFile struct {
	path string
	// all are the valid credentials, by the name of the registry or a part of it.
	all map[string]credentials
	// broken says what is wrong with the other credentials, by the same names.
	broken map[string]string
}

// RegistryAuth makes pulls use the credentials in this file, in the format of containers-auth.json. If the file has any, they replace
// Podman's own. The engine reads the file at each pull. Call RegistryAuth before any other method; "" stands for no file.
func (e *Engine) RegistryAuth(path string) { e.authFile = path }

// CheckRegistryAuth reads the file of RegistryAuth, and says what is wrong with it.
func (e *Engine) CheckRegistryAuth() error {
	_, err := readAuthFile(e.authFile)
	return err
}

// readAuthFile reads the file. If path is "", there are no credentials. Errors name the file.
func readAuthFile(path string) (*authFile, error) {
	f := &authFile{path: path, all: map[string]credentials{}, broken: map[string]string{}}
	if path == "" {
		return f, nil
	}
	text, err := readRegular(path)
	if err != nil {
		return nil, fmt.Errorf("reading the registry credentials: %w: %s", err, rewrite(path))
	}
	var content struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			IdentityToken string `json:"identitytoken"`
		} `json:"auths"`
		Helpers map[string]string `json:"credHelpers"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("cannot parse the registry credentials in %s%s: %s", path, where(err), rewrite(path))
	}
	for name := range content.Helpers {
		f.broken[registryName(name)] = "are in a helper, which Rookery does not run"
	}
	for name, entry := range content.Auths {
		found, wrong := parseAuth(entry.Auth)
		if entry.IdentityToken != "" {
			wrong = "are an identity token, which Podman's interface does not take"
		}
		if wrong != "" {
			f.broken[registryName(name)] = wrong
			continue
		}
		f.all[registryName(name)] = found
	}
	return f, nil
}

// rewrite says how to write a valid file of credentials.
func rewrite(path string) string {
	return fmt.Sprintf("write the file with \"podman login --authfile %s\" and the registry's name", path)
}

// readRegular reads a regular file. It refuses others, because opening a pipe would wait for its other end.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxAuthFile {
		return nil, fmt.Errorf("%s is not a file of at most %s", path, events.Size(maxAuthFile))
	}
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(opened, maxAuthFile))
}

// where says where in the file the JSON is wrong. It does not quote the error of the JSON package, which may contain a part of a secret.
func where(err error) string {
	if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
		return fmt.Sprintf(" (no JSON from byte %d on)", syntax.Offset)
	}
	if kind := new(json.UnmarshalTypeError); errors.As(err, &kind) {
		return fmt.Sprintf(" (another kind of value than expected at byte %d)", kind.Offset)
	}
	return ""
}

// parseAuth reads name and password, parted by a colon, in base64. It returns what is wrong, or "".
func parseAuth(text string) (credentials, string) {
	if text == "" {
		return credentials{}, "have no \"auth\", as where a helper keeps them"
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return credentials{}, "have an \"auth\" that is not base64"
	}
	// Some write a zero byte behind the password.
	name, password, parted := strings.Cut(strings.TrimRight(string(decoded), "\x00"), ":")
	if !parted || name == "" || password == "" {
		return credentials{}, "have an \"auth\" that is not name:password in base64"
	}
	return credentials{Username: name, Password: password}, ""
}

// registryName is a registry, or a part of one, in the form that images are named by. Docker writes URLs.
func registryName(key string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	if name != key {
		name, _, _ = strings.Cut(name, "/")
	}
	if name == "index.docker.io" || name == "registry-1.docker.io" {
		return "docker.io"
	}
	return name
}

// closest returns the most specific of the names that match the image; "" if none does.
func closest[V any](names map[string]V, image string) string {
	longest := ""
	for name := range names {
		rest, is := strings.CutPrefix(image, name)
		if is && name != "" && (rest == "" || strings.ContainsAny(rest[:1], "/:@")) && len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// check returns an error that says what is wrong with the credentials for the image, or nil.
func (f *authFile) check(image string) error {
	broken := closest(f.broken, image)
	if broken == "" || len(broken) < len(closest(f.all, image)) {
		return nil
	}
	return fmt.Errorf("the credentials for %s in %s %s: write them there with %s", broken, f.path, f.broken[broken], f.login(image))
}

// login is the command that writes credentials for the image.
func (f *authFile) login(image string) string {
	registry, _, _ := strings.Cut(image, "/")
	return fmt.Sprintf("\"podman login --authfile %s %s\"", f.path, registry)
}

// header returns a header with all valid credentials: the image may come from a mirror, which only Podman knows.
func (f *authFile) header() (http.Header, error) {
	if len(f.all) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(f.all)
	if err != nil {
		return nil, fmt.Errorf("encoding the registry credentials of %s: %w", f.path, err)
	}
	return http.Header{authHeader: {base64.URLEncoding.EncodeToString(text)}}, nil
}

// advice says what to do if Podman's message means that the registry refused the image for want of credentials; else "".
func (f *authFile) advice(image, message string) string {
	message = strings.ReplaceAll(strings.ToLower(message), "permission denied", "") // by a file, not a registry
	refused := false
	for _, words := range []string{"unauthorized", "authentication required", "invalid username/password", "denied", "forbidden"} {
		refused = refused || strings.Contains(message, words)
	}
	name := closest(f.all, image)
	switch {
	case !refused:
		return ""
	case f.path == "":
		return "the registry wants credentials, or does not have the image: start the node with --registry-auth and a file " +
			"that \"podman login --authfile\" has written: "
	case name == "":
		return "the registry wants credentials, or does not have the image, and " + f.path + " has none for it: write them there with " + f.login(image) + ": "
	}
	return "the registry does not take the credentials for " + name + " in " + f.path + ", or does not have the image: write others there with " +
		f.login(image) + ": "
}
