package rookerytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rookery-project/rookery/events"
)

// secretRows are the secrets of a spec: by reference, from the store of the node's Podman.
func secretRows() []specRow {
	const value = "s3cret-of-the-store"
	return []specRow{
		{"secrets", `"user":"1234:5678","restart":{"delay":"10ms","max_delay":"100ms"},` +
			`"secrets":[{"name":"db"},{"name":"key","path":"/etc/db/key","mode":"0400"}]`, func(s *seen) {
			s.secret("demo.key", value)
			s.offline(events.OfflineSecretMissing, `"podman secret create demo.db FILE"`)
			heard := s.overhear(">")
			s.secret("demo.db", value)
			s.want("the file", s.proc("root/run/secrets/db"), value)
			s.want("the file at its path", s.proc("root/etc/db/key"), value)
			s.want("who may read it by default", s.mode("run/secrets/db"), "-r--r--r-- of 1234:5678")
			s.want("who may read it", s.mode("etc/db/key"), "-r-------- of 1234:5678")
			event[events.CommandSucceeded](s)
			s.silent(value, heard.String())
			if strings.Contains(s.inspect("{{json .}}"), value) {
				s.Error("Podman says the secret's value")
			}
		}},
		{"secrets as variables", `"restart":{"delay":"10ms","max_delay":"100ms"},"env":{"A":"b"},"secrets":[{"name":"var","env":"DB"}]`, func(s *seen) {
			s.offline(events.OfflineSecretMissing, `"podman secret create demo.var FILE"`)
			heard := s.overhear(">")
			s.secret("demo.var", value)
			s.wantIn("the variables", s.proc("environ"), "DB="+value+"\x00")
			event[events.CommandSucceeded](s)
			s.silent(value, heard.String())
		}},
		{"secrets of another namespace", `"secrets":[{"name":"other"}]`, func(s *seen) {
			s.secret("team.other", value)
			s.secret("other", value)
			s.offline(events.OfflineSecretMissing, "no secret demo.other")
		}},
	}
}

// secret stores a secret in the Podman of the node.
func (s *seen) secret(name, value string) {
	s.Helper()
	file := filepath.Join(s.TempDir(), name)
	if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
		s.Fatal(err)
	}
	s.podman("secret", "create", name, file)
}

// silent fails the test if the value appears on the bus, which must have carried messages of the service, or in the output of the node.
func (s *seen) silent(value, heard string) {
	s.Helper()
	s.wantIn("what was heard", heard, strings.ReplaceAll(s.service, "/", "."))
	if strings.Contains(heard, value) || strings.Contains(s.node.output.String(), value) {
		s.Error("the bus or the node's output has the secret's value")
	}
}

// mode returns who may do what with a file in the container, and whose it is.
func (s *seen) mode(path string) string {
	s.Helper()
	info, err := os.Stat(s.root(path))
	if err != nil {
		s.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%s of %d:%d", info.Mode(), stat.Uid, stat.Gid)
}
