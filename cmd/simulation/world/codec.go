package world

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Codec encodes the durations of plans and results in Go's notation, as in "1m30s".
var Codec = json.JoinOptions(
	json.Deterministic(true),
	json.WithMarshalers(json.MarshalToFunc(func(e *jsontext.Encoder, d time.Duration) error {
		return e.WriteToken(jsontext.String(d.String()))
	})),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, into *time.Duration) error {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		*into, err = time.ParseDuration(token.String())
		return err
	})),
)
