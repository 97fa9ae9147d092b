package backup

import (
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// bucket returns a store in a bucket of a server that ends with the test.
func bucket(t *testing.T) *S3 {
	t.Helper()
	kept := s3mem.New()
	if err := kept.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(kept).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s, err := NewS3("s3://backups/of/rookery", server.URL, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// putText stores a text.
func putText(t *testing.T, s Store, name, text string) {
	t.Helper()
	f, err := newSpool()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.rewind(); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), name, f.File); err != nil {
		t.Fatal(err)
	}
}

// TestStoresKeepFiles holds each store to what Store says.
func TestStoresKeepFiles(t *testing.T) {
	for name, store := range map[string]func(*testing.T) Store{
		"folder": func(t *testing.T) Store { return folder(t) },
		"s3":     func(t *testing.T) Store { return bucket(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			if all, err := s.List(t.Context()); err != nil || len(all) > 0 {
				t.Errorf("a new store has %v, %v", all, err)
			}
			if _, err := s.Get(t.Context(), "a"); !errors.Is(err, ErrDamaged) {
				t.Errorf("a file that is missing: got error %v, want %v", err, ErrDamaged)
			}
			putText(t, s, "b", "before")
			putText(t, s, "a", "one")
			putText(t, s, "b", "two")
			all, err := s.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range all {
				names = append(names, f.Name)
				if age := time.Since(f.At); age > time.Minute || age < -time.Minute {
					t.Errorf("%s was stored %s ago", f.Name, age)
				}
			}
			if slices.Sort(names); !slices.Equal(names, []string{"a", "b"}) {
				t.Errorf("the store has %v", names)
			}
			content, err := s.Get(t.Context(), "b")
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(content); err != nil || string(text) != "two" || content.Close() != nil {
				t.Errorf("b has %q, %v", text, err)
			}
			for range 2 {
				if err := s.Delete(t.Context(), "a"); err != nil {
					t.Error(err)
				}
			}
			if all, err := s.List(t.Context()); err != nil || len(all) != 1 || all[0].Name != "b" {
				t.Errorf("the store still has %v, %v", all, err)
			}
		})
	}
}

// TestABackupInABucketIsRestored backs up into a bucket, and restores from it.
func TestABackupInABucketIsRestored(t *testing.T) {
	k, s := start(t), bucket(t)
	m := take(t, k.b, s, 1)
	if again := take(t, k.b, s, 2); !slices.Equal(again.Rounds, m.Rounds) {
		t.Errorf("the second backup has %v, and the first %v", again.Rounds, m.Rounds)
	}
	if err := Prune(t.Context(), s, 1, time.Now()); err != nil {
		t.Fatal(err)
	}
	all, err := List(t.Context(), s)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	b := connect(t)
	if wrote, err := (Restoration{b, s, all[0].Manifest, verify(t, s, all[0].Manifest), nil, 1}).Run(t.Context(), ignore); err != nil || !wrote {
		t.Fatal(wrote, err)
	}
	isAsItWas(t, b, k, k.middle, "first")
	if err := s.Delete(t.Context(), m.Configs.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), s, all[0].Manifest, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("without a file: got error %v, want %v", err, ErrDamaged)
	}
}

// TestAFolderIsForItsOwner looks at the permissions of what is stored.
func TestAFolderIsForItsOwner(t *testing.T) {
	s := folder(t)
	putText(t, s, "a", "secret")
	for path, want := range map[string]os.FileMode{string(s): 0o700, string(s) + "/a": 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the permissions %v, want %v: %v", path, info.Mode().Perm(), want, err)
		}
	}
}
