package screens

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Units, by Grafana's names. CPU is a number of cores.
const (
	unitCount   = "short"
	unitSeconds = "s"
	unitBytes   = "bytes"
	unitByteSec = "Bps"
	unitShare   = "percentunit"
	unitPerSec  = "ops"
)

// Colours, by their meaning.
const (
	good  = "green"
	warns = "orange"
	bad   = "red"
	plain = "blue"
)

// Sizes on a grid that is 24 wide.
const (
	lowHeight  = 4
	highHeight = 8
)

// what is the header of a panel: its title, its description, and its unit.
type what struct{ title, description, unit string }

// source is the Prometheus that the operator has chosen on the screen.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}
}

// refID names the queries of a panel, in their order.
func refID(i int) string { return string(rune('A' + i)) }

func ranged(i int, a ask) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source()).RefId(refID(i)).Expr(a.expr).LegendFormat(a.legend).Range()
}

func instant(i int, a ask) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source()).RefId(refID(i)).Expr(a.expr).LegendFormat(a.legend).Instant()
}

// level is the least value that has a colour.
type level struct {
	from   float64
	colour string
}

// colours returns thresholds. The first colour is that of all values below the first level.
func colours(first string, then ...level) *dashboard.ThresholdsConfigBuilder {
	steps := []dashboard.Threshold{{Color: first}}
	for _, l := range then {
		steps = append(steps, dashboard.Threshold{Value: cog.ToPtr(l.from), Color: l.colour})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// latest is the value of now.
func latest() *common.ReduceDataOptionsBuilder {
	return common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}).Values(false)
}

// figure is a panel with one number, or several side by side, in a colour that says whether it is well.
func figure(w what, width uint32, meaning *dashboard.ThresholdsConfigBuilder, asks ...ask) *stat.PanelBuilder {
	p := stat.NewPanelBuilder().Title(w.title).Description(w.description).Datasource(source()).Unit(w.unit).
		Height(lowHeight).Span(width).Thresholds(meaning).ReduceOptions(latest()).
		ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone)
	for i, a := range asks {
		p.WithTarget(instant(i, a))
	}
	return p
}

// lines is a panel with values over time.
func lines(w what, width uint32, asks ...ask) *timeseries.PanelBuilder {
	p := timeseries.NewPanelBuilder().Title(w.title).Description(w.description).Datasource(source()).Unit(w.unit).
		Height(highHeight).Span(width).Min(0).LineWidth(1).FillOpacity(8).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeTable).
			Placement(common.LegendPlacementBottom).Calcs([]string{"lastNotNull", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	for i, a := range asks {
		p.WithTarget(ranged(i, a))
	}
	return p
}

// stacked is a panel with lines that add up to a whole.
func stacked(w what, width uint32, asks ...ask) *timeseries.PanelBuilder {
	return lines(w, width, asks...).FillOpacity(40).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
}

// barLasts is the least time of a bar. Prometheus must have scraped twice within it.
const barLasts = "2m"

// counted is a panel with bars that count events, as inEachBar does.
func counted(w what, width uint32, asks ...ask) *timeseries.PanelBuilder {
	return stacked(w, width, asks...).Interval(barLasts).DrawStyle(common.GraphDrawStyleBars).LineWidth(0).FillOpacity(70).Decimals(0)
}

// bars is a panel that compares current values, or values of the whole time shown.
func bars(w what, width uint32, meaning *dashboard.ThresholdsConfigBuilder, asks ...ask) *bargauge.PanelBuilder {
	p := bargauge.NewPanelBuilder().Title(w.title).Description(w.description).Datasource(source()).Unit(w.unit).
		Height(highHeight).Span(width).Min(0).Thresholds(meaning).ReduceOptions(latest()).
		Orientation(common.VizOrientationHorizontal).DisplayMode(common.BarGaugeDisplayModeBasic)
	for i, a := range asks {
		p.WithTarget(instant(i, a))
	}
	return p
}

// to is a link to another screen, with the values of labels for its variables. It keeps the chosen time range and the chosen Prometheus.
func to(title, screen string, labels ...string) []cog.Builder[dashboard.DashboardLink] {
	url := []string{"/d/" + screen + "?${__url_time_range}", "${datasource:queryparam}"}
	for _, label := range labels {
		url = append(url, "var-"+strings.TrimPrefix(label, "rookery_")+"=${__field.labels."+label+"}")
	}
	return []cog.Builder[dashboard.DashboardLink]{
		dashboard.NewDashboardLinkBuilder(title).Type(dashboard.DashboardLinkTypeLink).Url(strings.Join(url, "&")),
	}
}

// panel is anything that a screen can show.
type panel = cog.Builder[dashboard.Panel]
