package rookerytest_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// snapshotRows are what a spec says of snapshots, and what these hold.
func snapshotRows() []specRow {
	const state = `"volumes":[{"name":"data","path":"/data","state":true},{"name":"cache","path":"/cache"}]`
	return []specRow{
		{"state volumes", state + `,"hooks":{"snapshot":{"exec":["/web","-env","ROOKERY_SNAPSHOT=1"]}}`, func(s *seen) {
			s.online()
			s.must(s.write("data/shard", "what the shard holds"))
			s.must(s.write("cache/page", "what the program can make again"))
			s.Command(s.service, "snapshot", `{}`)
			s.want("what comes first", string(event[events.InstanceConfirmed](s).Phase), string(events.OperationHold))
			kept := event[events.InstanceConfirmed](s)
			s.want("what comes next", string(kept.Phase), string(events.OperationExport))
			if committed := event[events.SnapshotCommitted](s); committed.Version != 1 || committed.Scale != 1 {
				s.Errorf("committed is %+v", committed)
			}
			if len(kept.Exports) != 1 || kept.Exports[0].Volume != "data" {
				s.Fatalf("kept is %+v, want the volume data alone", kept.Exports)
			}
			s.want("the shard in the archive", s.archived(kept.Exports[0], "./shard"), "what the shard holds")
		}},
		{"state that is as it was", state, func(s *seen) {
			s.online()
			s.must(s.write("data/shard", "one"))
			first := s.snapshot()
			stored := s.object(first.Digest)
			if second := s.snapshot(); second != first {
				s.Errorf("the second snapshot keeps %+v, and the first %+v", second, first)
			}
			if now := s.object(first.Digest); now != stored {
				s.Errorf("the object of the same content is %+v, and was %+v", now, stored)
			}
			s.must(s.write("data/shard", "two"))
			s.want("the shard of the third snapshot", s.archived(s.snapshot(), "./shard"), "two")
			s.want("that of the first", s.archived(first, "./shard"), "one")
		}},
		{"snapshots that are refused", state + `,"hooks":{"snapshot":{"exec":["/web","-env","NEVER=1"]}}`, func(s *seen) {
			s.online()
			if outcome := s.Outcome(s.Publish(s.service, "snapshot", `{}`)); outcome.Reason != events.ReasonSnapshotFailed {
				s.Errorf("the snapshot ended as %+v, want %s", outcome, events.ReasonSnapshotFailed)
			}
			s.want("why it is refused", event[events.InstanceRefused](s).Refused, "its hold hook: /web ended with exit code 1")
		}},
	}
}

func (s *seen) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// snapshot takes one, and returns what it keeps of the volume.
func (s *seen) snapshot() events.Export {
	s.Helper()
	s.Command(s.service, "snapshot", `{}`)
	for {
		if kept := event[events.InstanceConfirmed](s); kept.Phase == events.OperationExport {
			return kept.Exports[0]
		}
	}
}

func (s *seen) object(digest string) bus.Object {
	s.Helper()
	o, err := s.Bus().Objects(bus.ObjectsVolumes).Stat(s.Context(), digest)
	s.must(err)
	return o
}

// archived returns a file of what was kept of a volume, whose digest must be that of its content.
func (s *seen) archived(kept events.Export, file string) string {
	s.Helper()
	content, err := s.Bus().Objects(bus.ObjectsVolumes).Get(s.Context(), kept.Digest)
	s.must(err)
	body, err := io.ReadAll(content)
	s.must(errors.Join(err, content.Close()))
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != kept.Digest || int64(len(body)) != kept.Size {
		s.Errorf("object %s has %d bytes and the digest %x, want %d bytes", kept.Digest, len(body), sum, kept.Size)
	}
	for archive := tar.NewReader(bytes.NewReader(body)); ; {
		header, err := archive.Next()
		s.must(err)
		if header.Name == file {
			text, err := io.ReadAll(archive)
			s.must(err)
			return string(text)
		}
	}
}
