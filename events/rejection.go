package events

import (
	"errors"
	"fmt"
)

// Code is the machine's word for why a command was rejected. Scripts branch on it; operators read the reason.
type Code string

// The codes of a rejection.
const (
	CodeEmpty            Code = "empty"             // the body has no bytes
	CodeMalformed        Code = "malformed"         // not one JSON object in UTF-8
	CodeTooDeep          Code = "too-deep"          // nested deeper than MaxDepth
	CodeDuplicateKey     Code = "duplicate-key"     // one object has a key twice
	CodeUnknownField     Code = "unknown-field"     // a field that the command does not have
	CodeWrongType        Code = "wrong-type"        // a value of another JSON type than the field's
	CodeOutOfRange       Code = "out-of-range"      // a number, length or count beyond its bounds
	CodeMissingField     Code = "missing-field"     // a field that must be given
	CodeInvalidValue     Code = "invalid-value"     // a value that the field does not take
	CodeInvalidName      Code = "invalid-name"      // not a DNS label
	CodeUnknownSubject   Code = "unknown-subject"   // the subject names nothing that takes commands
	CodeUnknownVerb      Code = "unknown-verb"      // the subject's last token is not a command
	CodeMissingAttribute Code = "missing-attribute" // a CloudEvent without a required attribute
	CodeInvalidAttribute Code = "invalid-attribute" // a CloudEvent's attribute breaks its rules
	CodeUnknownVersion   Code = "unknown-version"   // a version of CloudEvents or of the type that is not supported
	CodeIDReused         Code = "id-reused"         // the id of an earlier command, with another body
	CodeNotFound         Code = "not-found"         // the service does not exist
	CodeBusy             Code = "busy"              // an earlier command to the service has not ended
	CodeSuspended        Code = "suspended"         // the service is suspended, and takes nothing but resume and drop
	CodeHeard            Code = "heard"             // the node sends heartbeats, or did until just now: it is not gone
	CodeChanged          Code = "changed"           // the service has changed since the sequence in if_seq
	CodeOlder            Code = "older"             // a coordinator or a node is older than what the command needs
	CodeNeedsApproval    Code = "needs-approval"    // an operator must admit the node first
	CodeInternal         Code = "internal"          // deciding failed; the defect is ours
)

// Rejection says why a message from outside was refused: a code for machines, the field, and a sentence that says what is wrong and what to
// do.
type Rejection struct {
	Code   Code   `json:"code"`
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// Error returns the sentence.
func (r *Rejection) Error() string { return r.Reason }

// inField puts the field of a rejection below another one. It returns other errors, and nil, as they are.
func inField(field string, err error) error {
	var r *Rejection
	if !errors.As(err, &r) {
		return err
	}
	return &Rejection{Code: r.Code, Field: field + "." + r.Field, Reason: field + "." + r.Reason}
}

// Reject returns a *Rejection whose reason is formatted as by fmt.Sprintf.
func Reject(code Code, field, format string, args ...any) error {
	return &Rejection{Code: code, Field: field, Reason: fmt.Sprintf(format, args...)}
}
