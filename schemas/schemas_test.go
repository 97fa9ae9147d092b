package schemas_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/protocol/nats_jetstream/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
	"github.com/rookery-project/rookery/schemas"
	"github.com/rookery-project/rookery/schemas/schematest"
)

// words holds a valid value of each type whose text is restricted.
var words = map[reflect.Type]any{
	reflect.TypeFor[events.Code]():             events.CodeBusy,
	reflect.TypeFor[events.Action]():           events.ActionStop,
	reflect.TypeFor[events.Protocol]():         events.UDP,
	reflect.TypeFor[events.Size]():             events.Size(64 << 20),
	reflect.TypeFor[events.Mode]():             events.ModeGlobal,
	reflect.TypeFor[events.NetworkMode]():      events.NetworkNone,
	reflect.TypeFor[events.VolumeKind]():       events.VolumeTmpfs,
	reflect.TypeFor[events.PullPolicy]():       events.PullNever,
	reflect.TypeFor[events.RestartPolicy]():    events.RestartNever,
	reflect.TypeFor[events.Reconcile]():        events.ReconcileKeepOriginal,
	reflect.TypeFor[events.UlimitName]():       events.UlimitNoFile,
	reflect.TypeFor[events.BusyPolicy]():       events.BusySupersede,
	reflect.TypeFor[events.OfflineReason]():    events.OfflineExited,
	reflect.TypeFor[events.NoRestart]():        events.NoRestartAttempts,
	reflect.TypeFor[events.RetireReason]():     events.RetireDropped,
	reflect.TypeFor[events.Work]():             events.WorkDue,
	reflect.TypeFor[events.StrayReason]():      events.StrayOtherNode,
	reflect.TypeFor[events.ForgetReason]():     events.NodeNoLongerExists,
	reflect.TypeFor[events.When]():             events.RebalanceOnJoin,
	reflect.TypeFor[events.RebalanceEnd]():     events.RebalanceDone,
	reflect.TypeFor[events.MisfitFilter]():     events.MisfitZone,
	reflect.TypeFor[events.Cgroups]():          events.CgroupsHybrid,
	reflect.TypeFor[events.FailureReason]():    events.ReasonDeadline,
	reflect.TypeFor[events.Phase]():            events.PhaseOffline,
	reflect.TypeFor[events.Overlap]():          events.OverlapReplace,
	reflect.TypeFor[events.Profile]():          events.OptimizeUtilization,
	reflect.TypeFor[events.SecurityContext]():  events.SecurityEngine,
	reflect.TypeFor[events.Operator]():         events.OpNotIn,
	reflect.TypeFor[events.Moves]():            events.MaxMoves,
	reflect.TypeFor[events.UpdateStrategy]():   events.UpdateRecreate,
	reflect.TypeFor[events.UpdateOrder]():      events.StopFirst,
	reflect.TypeFor[events.Promotion]():        events.PromoteBySelf,
	reflect.TypeFor[events.FailureAction]():    events.FailureRollback,
	reflect.TypeFor[events.Ratio]():            events.Ratio(0.5),
	reflect.TypeFor[events.RescaleFailure]():   events.RescaleContinue,
	reflect.TypeFor[events.Ordinals]():         events.Ordinals{3, 0, 1, 7},
	reflect.TypeFor[events.OperationKind]():    events.OperationRestart,
	reflect.TypeFor[events.OperationPhase]():   events.OperationMonitor,
	reflect.TypeFor[events.OperationOutcome](): events.OperationDone,
	reflect.TypeFor[events.GroupOutcome]():     events.GroupDone,
	reflect.TypeFor[events.Weight]():           events.MaxWeight,
	reflect.TypeFor[events.NodeWeight]():       events.MaxNodeWeight,
	reflect.TypeFor[events.PolicyPreset]():     events.PresetMaterialize,
	reflect.TypeFor[events.RoundKey]():         events.RoundKey("C" + strings.Repeat("A", 55)),
	reflect.TypeFor[events.NodeKey]():          events.NodeKey("U" + strings.Repeat("A", 55)),
	reflect.TypeFor[events.SessionKind]():      events.SessionExec,
	reflect.TypeFor[events.TokenUses]():        events.MaxTokenUses,
	reflect.TypeFor[events.Duration]():         events.Duration(90*time.Second + time.Microsecond),
	reflect.TypeFor[events.ServiceID]():        events.ServiceID{Namespace: "demo", Name: "web"},
	reflect.TypeFor[events.InstanceID]():       events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Ordinal: 1, Generation: 2},
	reflect.TypeFor[projections.Outcome]():     projections.Succeeded,
	reflect.TypeFor[projections.NodeState]():   projections.NodeReady,
	reflect.TypeFor[coordinator.PlanAction]():  coordinator.PlanMove,
	reflect.TypeFor[coordinator.DrainAction](): coordinator.DrainRestart,
	reflect.TypeFor[events.Stream]():           events.Stdout,
	reflect.TypeFor[whatif.Moment]():           whatif.Moment{Sequence: 7},
	reflect.TypeFor[jsontext.Value]():          jsontext.Value("1"),
	reflect.TypeFor[time.Time]():               time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC),
}

func fill(v reflect.Value) {
	if word, ok := words[v.Type()]; ok {
		v.Set(reflect.ValueOf(word))
		return
	}
	switch v.Kind() { //nolint:exhaustive // the default reports kinds that are missing
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1<<v.Type().Bits() - 1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*views.Instance]() {
			return // Instance.Next would nest without end
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if !f.CanSet() {
				continue
			}
			fill(f)
			if tag := v.Type().Field(i).Tag.Get("jsonschema"); strings.HasPrefix(tag, "pattern=^/") || strings.HasPrefix(tag, "pattern=^(/") {
				f.SetString("/text")
			}
		}
	default:
		panic("a message has a field of kind " + v.Kind().String())
	}
}

func TestWhatRookeryWritesKeepsItsSchema(t *testing.T) {
	for _, sample := range events.Samples() {
		v := reflect.New(reflect.TypeOf(sample)).Elem()
		fill(v)
		m, err := events.Encode("s", v.Interface().(events.Data), events.Attributes{})
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(t, sample.Kind(), m.Body); err != nil {
			t.Errorf("%s: %s: %v", sample.Kind(), m.Body, err)
		}
		more := append([]byte(`{"more":1,`), m.Body[1:]...)
		if string(m.Body) == "{}" {
			more = []byte(`{"more":1}`)
		}
		if schematest.Validate(t, sample.Kind(), more) == nil {
			t.Errorf("the schema of %s accepts a field that the type does not have", sample.Kind())
		}
	}
}

// TestViewsAndQuestionsKeepTheirSchemas fills every field of the views, questions and answers, and checks them against their schemas.
func TestViewsAndQuestionsKeepTheirSchemas(t *testing.T) {
	all := map[events.Kind][]any{}
	for bucket, value := range views.Shapes() {
		all[schemas.View(bucket)] = []any{value}
	}
	for name, shape := range api.Shapes() {
		all[schemas.Question(name)], all[schemas.Answer(name)] = []any{shape.Question}, shape.Answers
	}
	all[schemas.Refusal()] = []any{api.Refusal()}
	for kind, values := range all {
		for _, value := range values {
			v := reflect.New(reflect.TypeOf(value)).Elem()
			fill(v)
			body, err := json.Marshal(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if err := schematest.Validate(t, kind, body); err != nil {
				t.Errorf("%s: %s: %v", kind, body, err)
			}
			if schematest.Validate(t, kind, append([]byte(`{"more":1,`), body[1:]...)) == nil {
				t.Errorf("the schema of %s accepts a field that the type does not have", kind)
			}
		}
	}
}

// TestSchemasAndParserAgree checks that the schemas of commands accept what the parser accepts. It leaves out cases in which the
// parser checks more than a schema can express, or in which a schema is stricter.
func TestSchemasAndParserAgree(t *testing.T) {
	for _, tt := range []struct {
		verb, body string
		valid      bool
	}{
		{"scale", `{"scale":5}`, true},
		{"scale", `{"scale":0,"busy":"supersede"}`, true},
		{"scale", `{"scale":10000}`, true},
		{"scale", `{"scale":10001}`, false},
		{"scale", `{"scale":-1}`, false},
		{"scale", `{"scale":3.5}`, false},
		{"scale", `{"scale":1e99}`, false},
		{"scale", `{"scale":"5"}`, false},
		{"scale", `{"scale":null}`, false},
		{"scale", `{"scale":5,"busy":"wait"}`, false},
		{"scale", `{"scael":5}`, false},
		{"scale", `{}`, false},
		{"scale", `[]`, false},
		{"drop", `{}`, true},
		{"drop", `{"scale":5}`, false},
		{"ensure", `{"image":"localhost/web:1"}`, true},
		{"ensure", `{"image":"i","scale":3,"command":["a"],"args":["b"],"env":{"A":"1"},"labels":{"a":"b"},"stop_grace":"1m30s"}`, true},
		{"ensure", `{"image":"i","ports":[{"name":"http","port":8080},{"name":"dns","port":53,"protocol":"udp"}]}`, true},
		{"ensure", `{"image":"i","stop_grace":"soon"}`, false},
		{"ensure", `{"image":"i","stop_grace":"-10s"}`, false},
		{"ensure", `{"image":"i","stop_grace":10}`, false},
		{"ensure", `{"image":"i","ports":[{"name":"http","port":0}]}`, false},
		{"ensure", `{"image":"i","ports":[{"name":"http","port":65536}]}`, false},
		{"ensure", `{"image":"i","ports":[{"name":"http","port":80,"protocol":"sctp"}]}`, false},
		{"ensure", `{"image":"i","ports":[{"name":"http","port":80,"public":true}]}`, false},
		{"ensure", `{"image":"i","user":"1000:1000","working_dir":"/srv","capabilities":["NET_RAW"],"read_only_root":true,"ulimits":[{"name":"nofile","value":99}],"shm_size":"64MiB"}`, true},
		{"ensure", `{"image":"i","hostname":"a.b","extra_hosts":[{"name":"db","address":"10.0.0.7"}],"network":"none","sysctls":{"net.core.somaxconn":"9"}}`, true},
		{"ensure", `{"image":"i","shm_size":"64M"}`, false},
		{"ensure", `{"image":"i","ulimits":[{"name":"files","value":99}]}`, false},
		{"ensure", `{"image":"i","network":"mesh"}`, false},
		{"ensure", `{"image":"i","read_only_root":"yes"}`, false},
		{"ensure", `{"image":"i","args":"a b"}`, false},
		{"ensure", `{"image":"i","args":["a",null]}`, false},
		{"ensure", `{"image":"i","env":{"A":1}}`, false},
		{"ensure", `{"image":""}`, false},
		{"ensure", `{"scale":3}`, false},
	} {
		if err := schematest.Validate(t, events.Kind{Thing: "service", Version: 1, Name: tt.verb}, []byte(tt.body)); (err == nil) != tt.valid {
			t.Errorf("the schema of %s: %s: %v", tt.verb, tt.body, err)
		}
		id := events.ServiceID{Namespace: "demo", Name: "web"}
		r := events.ParseRequest(events.Message{Subject: events.CommandSubject(id, tt.verb), Body: []byte(tt.body)})
		if (r.Rejection == nil) != tt.valid {
			t.Errorf("the parser of %s: %s: %+v", tt.verb, tt.body, r.Rejection)
		}
	}
}

func TestSchemasSayWhatTheyAreFor(t *testing.T) {
	for _, sample := range events.Samples() {
		s := schematest.Compile(t, sample.Kind())
		if s.Title != sample.Kind().Word() || !strings.HasSuffix(strings.TrimSpace(s.Description), ".") {
			t.Errorf("%s: title %q, description %q", sample.Kind(), s.Title, s.Description)
		}
	}
}

// TestTheCloudEventsSDKReadsEveryKind reads a message of each kind with the SDK's own binding for NATS JetStream. No part may be lost.
func TestTheCloudEventsSDKReadsEveryKind(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	at := time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)
	for _, sample := range events.Samples() {
		v := reflect.New(reflect.TypeOf(sample)).Elem()
		fill(v)
		m, err := events.Encode("s", v.Interface().(events.Data), events.Attributes{
			ID: "12", Source: "/rookery/log", Time: at, Cause: events.Cause{Correlation: 7, Causation: "ROOKERY_COMMANDS/7", TraceParent: parent},
		})
		if err != nil {
			t.Fatal(err)
		}
		e, err := binding.ToEvent(t.Context(), nats_jetstream.NewMessage(&nats.Msg{Header: nats.Header(m.Header), Data: m.Body}))
		if err != nil {
			t.Fatalf("%s: %v", sample.Kind(), err)
		}
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", sample.Kind(), err)
		}
		got := []any{e.ID(), e.Source(), e.Type(), e.Time(), e.DataContentType(), e.DataSchema(), string(e.Data())}
		want := []any{"12", "/rookery/log", sample.Kind().String(), at, "application/json", sample.Kind().Schema(), string(m.Body)}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %v, want %v", sample.Kind(), got, want)
		}
		extensions := map[string]any{"correlationid": "7", "causationid": "ROOKERY_COMMANDS/7", "traceparent": parent}
		if !reflect.DeepEqual(e.Extensions(), extensions) {
			t.Errorf("%s has the extensions %v, want %v", sample.Kind(), e.Extensions(), extensions)
		}
		schematest.Compile(t, sample.Kind()) // its dataschema is the id of a schema in this package
	}
}
