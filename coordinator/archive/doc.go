// Package archive is the format of the files that hold the oldest part of the log.
//
// A file holds whole rounds, as they were stored, compressed with zstd. Each message is a line of JSON. The first line names
// the log; the last line has the first and last sequence and the SHA-256 of all lines before. The file's name has the log and
// these sequences. The files of an archive follow each other from the first message on, so their fold is the state at their
// end.
//
//	w, err := archive.NewWriter(file, logID)
//	err = w.Add(message) // ... and w.Close()
//	for m, err := range archive.Read(file, logID, name) { ... }
//
// The package does not know a folder, a clock or the bus.
package archive
