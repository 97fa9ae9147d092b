package events

import (
	"strings"
	"testing"
)

func TestBodiesThatAreNotTaken(t *testing.T) {
	const image = `{"image":"i",`
	for _, tt := range []struct {
		name  string
		verb  string
		body  string
		code  Code
		field string
		says  string
	}{
		{"empty", "scale", "", CodeEmpty, "", "{}"},
		{"blank", "scale", " \r\n\t", CodeEmpty, "", "empty"},
		{"no JSON", "scale", "scale to five", CodeMalformed, "", `"s"`},
		{"binary", "scale", "\x00\x01\x02", CodeMalformed, "", `\x00`},
		{"not UTF-8", "scale", "{\"scale\":\"\xff\"}", CodeMalformed, "", "UTF-8"},
		{"half a surrogate pair", "scale", `{"busy":"\ud800"}`, CodeMalformed, "busy", "surrogate"},
		{"a byte order mark", "scale", "\ufeff{}", CodeMalformed, "", "begins with"},
		{"null", "scale", "null", CodeMalformed, "", `"n"`},
		{"a list", "scale", "[5]", CodeMalformed, "", `"["`},
		{"a number", "scale", "5", CodeMalformed, "", `"5"`},
		{"a cut", "scale", `{"scale":`, CodeMalformed, "scale", "byte 9"},
		{"a comma too many", "scale", `{"scale":5,}`, CodeMalformed, "", "not JSON"},
		{"a comment", "scale", `{/*five*/"scale":5}`, CodeMalformed, "", "not JSON"},
		{"trailing bytes", "scale", `{"scale":5}x`, CodeMalformed, "", "byte 11"},
		{"two objects", "scale", `{"scale":5} {"scale":6}`, CodeMalformed, "", "byte 12"},
		{"an unknown field", "scale", `{"scael":5}`, CodeUnknownField, "scael", `did you mean "scale"`},
		{"a field in another case", "scale", `{"Scale":5}`, CodeUnknownField, "Scale", `did you mean "scale"`},
		{"a field like no other", "scale", `{"quantity":5}`, CodeUnknownField, "quantity", "scale, busy"},
		{"an empty field", "drop", `{"":5}`, CodeUnknownField, "", `""`},
		{"a field with control characters", "drop", `{"\u0000":5}`, CodeUnknownField, `\x00`, `\x00`},
		{"a number for a text", "ensure", image + `"requests":{"cpu":12}}`, CodeWrongType, "requests.cpu", "write it in quotes"},
		{"an unknown field of an embedded object", "ensure", `{"imaeg":"i"}`, CodeUnknownField, "imaeg", `did you mean "image"`},
		{"an unknown field of a list's object", "ensure", image + `"ports":[{"name":"a","prot":1}]}`, CodeUnknownField, "ports[0].prot", `did you mean "port"`},
		{"a key twice", "scale", `{"scale":5,"scale":6}`, CodeDuplicateKey, "scale", "twice"},
		{"a key twice by an escape", "scale", `{"scale":5,"sc\u0061le":6}`, CodeDuplicateKey, "scale", "twice"},
		{"a key twice within", "ensure", image + `"ports":[{},{"name":"a","name":"b"}]}`, CodeDuplicateKey, "ports[1].name", "twice"},
		{"a key twice in a map", "ensure", image + `"env":{"A":"1","A":"2"}}`, CodeDuplicateKey, "env.A", "twice"},
		{"too deep", "ensure", `{"env":` + strings.Repeat(`{"a":`, 16) + "1" + strings.Repeat("}", 17), CodeTooDeep, "env" + strings.Repeat(".a", 15), "16"},
		{"far too deep", "scale", `{"scale":` + strings.Repeat("[", 30_000), CodeTooDeep, "scale" + strings.Repeat("[0]", 15), "16"},
		{"too much", "ensure", image + `"args":[` + strings.Repeat("1,", MaxTokens) + `1]}`, CodeOutOfRange, "", "20000"},
		{"text for a number", "scale", `{"scale":"5"}`, CodeWrongType, "scale", "a whole number, not a string"},
		{"true for a number", "scale", `{"scale":true}`, CodeWrongType, "scale", "a whole number, not true or false"},
		{"a list for a number", "scale", `{"scale":[5]}`, CodeWrongType, "scale", "not a list"},
		{"an object for a number", "scale", `{"scale":{}}`, CodeWrongType, "scale", "not an object"},
		{"a number for text", "ensure", `{"image":5}`, CodeWrongType, "image", "a string, not a number"},
		{"text for a list", "ensure", image + `"args":"a b"}`, CodeWrongType, "args", "a list, not a string"},
		{"a number in a list of texts", "ensure", image + `"args":["a",5]}`, CodeWrongType, "args[1]", "a string, not a number"},
		{"a list for an object", "ensure", image + `"env":["A=1"]}`, CodeWrongType, "env", "an object, not a list"},
		{"a number in a map of texts", "ensure", image + `"env":{"A":1}}`, CodeWrongType, "env.A", "a string, not a number"},
		{"a number for a duration", "ensure", image + `"stop_grace":10}`, CodeWrongType, "stop_grace", "a string, not a number"},
		{"a list for a duration", "ensure", image + `"stop_grace":[]}`, CodeWrongType, "stop_grace", "a string, not a list"},
		{"text that is not a duration", "ensure", image + `"stop_grace":"soon"}`, CodeInvalidValue, "stop_grace", "1m30s"},
		{"null for a number", "scale", `{"scale":null}`, CodeWrongType, "scale", "null"},
		{"null for a list", "ensure", image + `"args":null}`, CodeWrongType, "args", "null"},
		{"null in a list", "ensure", image + `"args":["a",null]}`, CodeWrongType, "args[1]", "null"},
		{"null in a map", "ensure", image + `"env":{"A":null}}`, CodeWrongType, "env.A", "null"},
		{"a missing field", "scale", `{}`, CodeMissingField, "scale", `{"scale":3}`},
		{"a huge float", "scale", `{"scale":1e99}`, CodeOutOfRange, "scale", "whole number"},
		{"a float beyond floats", "scale", `{"scale":1e999}`, CodeOutOfRange, "scale", "whole number"},
		{"a negative number", "scale", `{"scale":-1}`, CodeOutOfRange, "scale", "-1"},
		{"a fraction", "scale", `{"scale":3.5}`, CodeOutOfRange, "scale", "whole number"},
		{"a number beyond 64 bits", "scale", `{"scale":99999999999999999999}`, CodeOutOfRange, "scale", "beyond"},
		{"2 to the power of 70", "scale", `{"scale":1180591620717411303424}`, CodeOutOfRange, "scale", "beyond"},
		{"a number beyond the field", "scale", `{"scale":10001}`, CodeOutOfRange, "scale", "10000"},
		{"a negative port", "ensure", image + `"ports":[{"name":"a","port":-1}]}`, CodeOutOfRange, "ports[0].port", "not negative"},
		{"a port beyond its bits", "ensure", image + `"ports":[{"name":"a","port":65536}]}`, CodeOutOfRange, "ports[0].port", "beyond"},
		{"a number with a leading zero", "scale", `{"scale":05}`, CodeMalformed, "", "not JSON"},
		{"not a number", "scale", `{"scale":NaN}`, CodeMalformed, "scale", "not JSON"},
	} {
		wantRejected(t, tt.name, ParseRequest(bare(CommandSubject(web, tt.verb), tt.body)), tt.code, tt.field, tt.says)
	}
}

func TestDepthThatIsTaken(t *testing.T) {
	body := strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1)
	wantRejection(t, decodeStrict([]byte(`{"scale":`+body+`}`), &ServiceScale{}), CodeWrongType, "scale", "not a list")
}

func TestNearestNames(t *testing.T) {
	known := []string{"image", "command", "args", "ports", "stop_grace"}
	for _, tt := range []struct{ name, want string }{
		{"imag", "image"},
		{"IMAGE", "image"},
		{"stopgrace", "stop_grace"},
		{"comand", "command"},
		{"port", "ports"},
		{"cpu", ""},
		{"", ""},
		{strings.Repeat("image", 20), ""},
	} {
		if got := nearest(tt.name, known); got != tt.want {
			t.Errorf("nearest to %q is %q, want %q", tt.name, got, tt.want)
		}
	}
	if d := editDistance("kitten", "sitting"); d != 3 {
		t.Errorf("kitten is %d from sitting", d)
	}
}
