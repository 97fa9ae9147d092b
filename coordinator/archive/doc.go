// Package archive is the format of the files that the oldest part of the log goes to.
//
// A file holds whole rounds, as they were stored: a line of JSON for each message, between one that says of which log they are and one that
// says which they are and has their SHA-256; all compressed with zstd. Its name has the log and the first and last sequence. The files of
// an archive follow each other from the first message on, so their fold is the state at their end.
//
//	w, err := archive.NewWriter(file, logID)
//	err = w.Add(message) // ... and w.Close()
//	for m, err := range archive.Read(file, logID, name) { ... }
//
// The package never knows a folder, a clock or the bus.
package archive
