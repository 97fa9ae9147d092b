package rookerytest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/rookery-project/rookery/events"
)

// deviceRows are the fields that say what devices of the host an instance has. The node allows /dev/fuse, and one that is
// not there.
func deviceRows() []specRow {
	return []specRow{
		{"devices", `"devices":[{"path":"/dev/fuse","target":"/dev/other","access":"r"}]`, func(s *seen) {
			here, err := os.Stat("/dev/fuse")
			there, thereErr := os.Stat(s.root("dev/other"))
			if err := errors.Join(err, thereErr); err != nil {
				s.Fatal(err)
			}
			s.want("the device", fmt.Sprint(there.Sys().(*syscall.Stat_t).Rdev), fmt.Sprint(here.Sys().(*syscall.Stat_t).Rdev))
			_, err = os.Stat(s.root("dev/fuse"))
			if !errors.Is(err, fs.ErrNotExist) {
				s.Errorf("it has the device under the host's name: %v", err)
			}
		}},
		{"devices refused", `"devices":[{"path":"/dev/kmsg"}]`, func(s *seen) {
			s.offline(events.OfflineNotAllowed, "--allow-device /dev/kmsg")
		}},
		{"devices that are missing", `"devices":[{"path":"/dev/rookery-none"}]`, func(s *seen) {
			s.offline(events.OfflineCreateFailed, "/dev/rookery-none")
		}},
	}
}
