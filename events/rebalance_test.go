package events

import "testing"

func TestRebalancesRead(t *testing.T) {
	c, err := ParseClusterRebalance([]byte(`{"max_moves":1000,"min_gain":100,"volumes":true,"when":"node-joins"}`))
	if err != nil || *c.MaxMoves != MaxMoves || *c.MinGain != MaxWeight || !c.Volumes || c.When != RebalanceOnJoin {
		t.Errorf("it reads as %+v, %v", c, err)
	}
	if terms := (ClusterRebalance{}).Terms(); terms != (RebalanceTerms{MaxMoves: DefaultMaxMoves, MinGain: DefaultMinGain}) {
		t.Errorf("without bounds it has %+v", terms)
	}
	for body, field := range map[string]string{
		`{"max_moves":0}`: "max_moves", `{"max_moves":1001}`: "max_moves", `{"min_gain":0}`: "min_gain", `{"min_gain":101}`: "min_gain", `{"when":"soon"}`: "when",
	} {
		_, err := ParseClusterRebalance([]byte(body))
		code := CodeOutOfRange
		if field == "when" {
			code = CodeInvalidValue
		}
		wantRejection(t, err, code, field)
	}
	_, err = ParseClusterRebalance([]byte(`{"moves":1}`))
	wantRejection(t, err, CodeUnknownField, "moves")
}
