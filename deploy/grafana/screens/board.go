package screens

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// screen is a dashboard in the classic form of Grafana. Every Grafana reads it; only the latest versions read the newer form.
type screen = dashboard.DashboardBuilder //nolint:staticcheck // deprecated for a form that Grafana 11 and before do not know

// board returns an empty screen, with the parts that all screens have.
func board(uid, title, description string) *screen {
	//nolint:staticcheck // deprecated as screen is
	b := dashboard.NewDashboardBuilder("Rookery: " + title)
	return b.Uid(uid).Description(description).Tags([]string{tag}).Readonly().
		Time("now-1h", "now").Refresh("30s").Timezone("browser").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("Rookery").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).
			IncludeVars(true).KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		Annotation(underWay()).Annotation(endedBadly())
}

// tag is the tag of all screens: it links each screen to the others.
const tag = "rookery"

// choice is a variable of a screen: the operator chooses one, some or all values of a label.
func choice(label, title, series string) *dashboard.QueryVariableBuilder {
	ask := "label_values(" + series + ", " + label + ")"
	all := dashboard.VariableOption{
		Selected: cog.ToPtr(true),
		Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
		Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	}
	return dashboard.NewQueryVariableBuilder(strings.TrimPrefix(label, "rookery_")).Label(title).Datasource(source()).
		Query(dashboard.StringOrMap{String: cog.ToPtr(ask)}).Definition(ask).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortNaturalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").Current(all)
}

// underWay marks the time during which an operation changes a service.
func underWay() *dashboard.AnnotationQueryBuilder {
	return annotation("Operations", "blue",
		"count by (rookery_namespace, rookery_service, rookery_operation) (rookery_operation_phase_duration_seconds)",
		"{{rookery_operation}} of {{rookery_namespace}}/{{rookery_service}}", "It is under way.")
}

// endedBadly marks the moment at which an operation has ended without success.
func endedBadly() *dashboard.AnnotationQueryBuilder {
	ended := sumBy(grown(`rookery_operations_total{rookery_outcome!="done"}`, inStep), "rookery_operation", "rookery_outcome") + " > 0"
	return annotation("Operations that did not get through", "red", ended, "{{rookery_operation}}: {{rookery_outcome}}", "An operation has ended so.")
}

func annotation(name, colour, expr, title, text string) *dashboard.AnnotationQueryBuilder {
	return dashboard.NewAnnotationQueryBuilder().Name(name).Datasource(source()).Enable(true).IconColor(colour).
		Expr(expr).Step("15s").TitleFormat(title).TextFormat(text).TagKeys("rookery_operation")
}
