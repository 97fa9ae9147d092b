package podman_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// TestRegistryAuthSaysWhatIsWrongAndNoSecret has an image refused by its registry, and holds the words to name the file
// and what to do, and to have nothing of what stands in it.
func TestRegistryAuthSaysWhatIsWrongAndNoSecret(t *testing.T) {
	const secret = "hunter22"
	encoded := base64.StdEncoding.EncodeToString([]byte("me:" + secret))
	refuses := connect(t, fakeService(t, map[string]string{"/images/pull": `{"error":"unauthorized: authentication required"}`}))
	for name, tt := range map[string]struct {
		content, want string
	}{
		"no JSON":              {`"` + secret + `" ` + secret, "no JSON from byte"},
		"a number":             {`{"auths":{"reg.example":{"auth":12345678}}}`, "another kind of value"},
		"nothing":              {``, "cannot parse the registry credentials in"},
		"no credentials":       {`{}`, "has none for it"},
		"those of others":      {`{"auths":{"other.example":{"auth":"` + encoded + `"},"reg.example/other":{"auth":"` + encoded + `"},"reg.examples":{}}}`, "has none for it"},
		"not the right ones":   {`{"auths":{"reg.example":{"auth":"` + encoded + `"}}}`, "does not take the credentials for reg.example in"},
		"of a part":            {`{"auths":{"reg.example":{},"reg.example/team":{"auth":"` + encoded + `"}}}`, "does not take the credentials for reg.example/team in"},
		"as Docker writes it":  {`{"auths":{"https://reg.example/v1/":{"auth":"` + encoded + `"}}}`, "does not take the credentials for reg.example in"},
		"an empty entry":       {`{"auths":{"reg.example":{}},"credsStore":"` + secret + `"}`, "a helper keeps them"},
		"a helper":             {`{"credHelpers":{"reg.example":"` + secret + `"}}`, "are in a helper"},
		"an identity token":    {`{"auths":{"reg.example":{"auth":"` + encoded + `","identitytoken":"` + secret + `"}}}`, "identity token"},
		"no base64":            {`{"auths":{"reg.example":{"auth":"me:` + secret + `"}}}`, "not base64"},
		"a name alone":         {`{"auths":{"reg.example":{"auth":"` + base64.StdEncoding.EncodeToString([]byte(secret)) + `"}}}`, "name:password"},
		"larger than Podman's": {strings.Repeat(secret, 40_000), "at most 256KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "auth.json")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			refuses.RegistryAuth(path)
			err := prepare(t, refuses, "reg.example/team/web:1")
			wantFailure(t, err, events.OfflineImagePull, tt.want)
			for _, word := range []string{path, "podman login --authfile"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error is %v, want %q in it", err, word)
				}
			}
			for _, part := range []string{secret, encoded, "12345678"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error tells %q: %v", part, err)
				}
			}
		})
	}
	refuses.RegistryAuth("")
	wantFailure(t, prepare(t, refuses, "reg.example/team/web:1"), events.OfflineImagePull, "--registry-auth")
	missing := filepath.Join(t.TempDir(), "none")
	refuses.RegistryAuth(missing)
	wantFailure(t, prepare(t, refuses, "reg.example/team/web:1"), events.OfflineImagePull, missing)
	refuses.RegistryAuth(filepath.Dir(missing))
	wantFailure(t, prepare(t, refuses, "reg.example/team/web:1"), events.OfflineImagePull, "is not a file")
}

// TestOtherPullErrorsStayAsTheyAre holds advice on credentials to be given only where they are what is missing.
func TestOtherPullErrorsStayAsTheyAre(t *testing.T) {
	for _, words := range []string{"no route to host", "mkdir /var/lib/containers: permission denied"} {
		engine := connect(t, fakeService(t, map[string]string{"/images/pull": `{"error":"` + words + `"}`}))
		wantFailure(t, prepare(t, engine, "reg.example/web:1"), events.OfflineImagePull, "image reg.example/web:1: "+words)
	}
}

// prepare has the engine fetch an image in any case.
func prepare(t *testing.T, engine node.Engine, image string) error {
	t.Helper()
	_, err := engine.Prepare(t.Context(), planOf(image))
	return err
}

// planOf is a container of an image that is fetched in any case.
func planOf(image string) node.Plan {
	spec := &events.Spec{Image: image}
	spec.Pull = events.PullAlways
	return node.Plan{
		Owner: owner, Instance: events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1},
		Order: events.Order{Spec: spec},
	}
}
