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

// Colours, by what they say.
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

// what is what a panel says of itself: its title, the sentence behind it, and its unit.
type what struct{ title, description, unit string }

// source is the Prometheus that is chosen on the screen.
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

// level is the least value from which on a colour says something.
type level struct {
	from   float64
	colour string
}

// colours begin with what is so from the very first on.
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

// figure is one number, or some beside each other, with a colour that says whether it is well.
func figure(w what, width uint32, meaning *dashboard.ThresholdsConfigBuilder, asks ...ask) *stat.PanelBuilder {
	p := stat.NewPanelBuilder().Title(w.title).Description(w.description).Datasource(source()).Unit(w.unit).
		Height(lowHeight).Span(width).Thresholds(meaning).ReduceOptions(latest()).
		ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone)
	for i, a := range asks {
		p.WithTarget(instant(i, a))
	}
	return p
}

// lines are values over time.
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

// stacked are lines that add up to a whole.
func stacked(w what, width uint32, asks ...ask) *timeseries.PanelBuilder {
	return lines(w, width, asks...).FillOpacity(40).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
}

// barLasts is how long a bar is at least. Prometheus has to have looked twice within it.
const barLasts = "2m"

// counted are bars of how many there were, as inEachBar has them.
func counted(w what, width uint32, asks ...ask) *timeseries.PanelBuilder {
	return stacked(w, width, asks...).Interval(barLasts).DrawStyle(common.GraphDrawStyleBars).LineWidth(0).FillOpacity(70).Decimals(0)
}

// bars compare values of now, or of all of the time that is shown.
func bars(w what, width uint32, meaning *dashboard.ThresholdsConfigBuilder, asks ...ask) *bargauge.PanelBuilder {
	p := bargauge.NewPanelBuilder().Title(w.title).Description(w.description).Datasource(source()).Unit(w.unit).
		Height(highHeight).Span(width).Min(0).Thresholds(meaning).ReduceOptions(latest()).
		Orientation(common.VizOrientationHorizontal).DisplayMode(common.BarGaugeDisplayModeBasic)
	for i, a := range asks {
		p.WithTarget(instant(i, a))
	}
	return p
}

// to is a link to another screen, with the values of labels for its variables. The time and the Prometheus stay those that are chosen.
func to(title, screen string, labels ...string) []cog.Builder[dashboard.DashboardLink] {
	url := []string{"/d/" + screen + "?${__url_time_range}", "${datasource:queryparam}"}
	for _, label := range labels {
		url = append(url, "var-"+strings.TrimPrefix(label, "rookery_")+"=${__field.labels."+label+"}")
	}
	return []cog.Builder[dashboard.DashboardLink]{
		dashboard.NewDashboardLinkBuilder(title).Type(dashboard.DashboardLinkTypeLink).Url(strings.Join(url, "&")),
	}
}

// panel is what is put on a screen.
type panel = cog.Builder[dashboard.Panel]
