package events

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io"
	"sync"
	"time"
)

// zoneinfo is the database of time zones that Go brings: that of the host may be another one on every host.
//
//go:generate sh -c "cp \"$(go env GOROOT)/lib/time/zoneinfo.zip\" zoneinfo.zip"
//go:embed zoneinfo.zip
var zoneinfo []byte

// zones are those of the database by name. Each is read once, at its first use: a fold uses one with every run.
var zones = sync.OnceValue(func() map[string]func() *time.Location {
	r, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		panic("the database of time zones does not read: " + err.Error())
	}
	all := make(map[string]func() *time.Location, len(r.File))
	for _, f := range r.File {
		if !f.FileInfo().IsDir() {
			all[f.Name] = sync.OnceValue(func() *time.Location { return readZone(f) })
		}
	}
	return all
})

// zone returns the time zone of this name in IANA's database, or nil where there is none.
func zone(name string) *time.Location {
	if read := zones()[name]; read != nil {
		return read()
	}
	return nil
}

func readZone(f *zip.File) *time.Location {
	r, err := f.Open()
	if err != nil {
		return nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	location, err := time.LoadLocationFromTZData(f.Name, data)
	if err != nil {
		return nil
	}
	return location
}
