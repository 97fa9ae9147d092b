package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
)

// TestKeysReplaceNothing makes keys where a file is, and where keys are.
func TestKeysReplaceNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := secure.Files{"keys/one": []byte("1")}
	if err := (&secured{file}).create(files); err == nil {
		t.Error("keys were made where a file is")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file has %q (%v)", text, err)
	}
	s := &secured{filepath.Join(t.TempDir(), "keys")}
	if err := s.create(files); err != nil {
		t.Fatal(err)
	}
	if err := s.create(files); err == nil {
		t.Error("keys were made where keys are")
	}
}

// TestOneCommandChangesKeysAtATime changes a folder while another command does.
func TestOneCommandChangesKeysAtATime(t *testing.T) {
	folder := t.TempDir()
	err := (&secured{folder}).alone(func() error {
		return (&secured{folder}).alone(func() error {
			t.Error("two commands change one folder")
			return nil
		})
	})
	if err == nil {
		t.Error("the second command says nothing")
	}
}
