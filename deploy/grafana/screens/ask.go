package screens

import (
	"fmt"
	"strings"
)

// inRange is the time that the screen shows, as in figures that count all of it.
const inRange = "$__range"

// inStep is the time around one point of a line.
const inStep = "$__rate_interval"

// inBar is the time from one bar to the next.
const inBar = "$__interval"

// known is how far back a query looks for a series before the counted time. A series without a value there began within the counted time.
// It is longer than any expected outage of Prometheus or of a coordinator.
const known = "1h"

// sumBy adds up what there is by labels; without any, all of it.
func sumBy(expr string, labels ...string) string {
	if len(labels) == 0 {
		return "sum(" + expr + ")"
	}
	return "sum by (" + strings.Join(labels, ", ") + ") (" + expr + ")"
}

// maxBy is for values that several processes report of the same thing. For some minutes after a failover Prometheus may hold the values of
// both coordinators, and a sum would count them twice.
func maxBy(expr string, labels ...string) string {
	if len(labels) == 0 {
		return "max(" + expr + ")"
	}
	return "max by (" + strings.Join(labels, ", ") + ") (" + expr + ")"
}

// Labels that tell apart what single series are about.
var (
	eachService = []string{"rookery_namespace", "rookery_service"}
	eachNode    = []string{"rookery_node"}
	eachState   = []string{"rookery_state"}

	eachNodeState = []string{"rookery_node", "rookery_state"}
	eachReason    = []string{"rookery_reason"}
	eachStream    = []string{"rookery_stream"}
	eachPhase     = []string{"rookery_node", "rookery_phase"}
)

// total adds up levels, of which each is told of one thing that labels tell apart: by the labels after them, or all of it.
func total(series string, each []string, by ...string) string {
	return sumBy(maxBy(series, each...), by...)
}

// grown is by how much counters have grown within a time. One that is new has grown by all that it has: increase alone would not see
// its first, and of what is rare that is often the only one. One whose process has ended since counts with what it had.
func grown(series, within string) string {
	first := fmt.Sprintf("(min_over_time(%[1]s[%[2]s]) unless last_over_time(%[1]s[%[3]s] offset %[2]s))", series, within, known)
	increase := fmt.Sprintf("increase(%s[%s])", series, within)
	return "((" + first + " + " + increase + ") or " + first + " or " + increase + ")"
}

// inEachBar is how much counters have grown from one bar to the next, so that each event counts in exactly one bar. increase would lose
// events: it counts only from the first scrape within a bar on. A counter that is lower than before was reset by a restart.
func inEachBar(series string) string {
	now := fmt.Sprintf("last_over_time(%s[%s])", series, inBar)
	return fmt.Sprintf("((%[1]s - last_over_time(%[2]s[%[3]s] offset %[4]s)) >= 0 or %[1]s)", now, series, known, inBar)
}

// of keeps of what all programs may tell that of processes which tell a series of ours, too.
func of(expr, series string) string { return expr + " and on (job, instance) " + series }

// perSecond is how fast counters grow.
func perSecond(series string) string { return "rate(" + series + "[" + inStep + "])" }

// teller is the process that would report a series: a query that has a result only while that process reports. Some series do not exist
// while their value is 0. If the teller is gone, the value is unknown, and a 0 would wrongly say that all is well.
type teller string

const (
	aLeader      teller = "max(rookery_commands_open)"
	aCoordinator teller = "max(rookery_coordinator_role)"
	aNode        teller = "max(rookery_node_capacity_cpu)"
	// prometheusItself is for what Prometheus knows without any process.
	prometheusItself teller = "vector(1)"
)

// orZero returns 0 while Prometheus has no series of expr and the teller reports.
func orZero(expr string, tells teller) string { return expr + " or on() 0 * " + string(tells) }

// orNone is orZero with a name for the 0 in the place of what the label says.
func orNone(expr, label string, tells teller) string {
	return fmt.Sprintf(`%s or on() label_replace(0 * %s, "%s", "none", "", "")`, expr, tells, label)
}

// byLabels adds up how much counters have grown, by labels; 0 with a name while there are none.
func byLabels(grew string, tells teller, labels ...string) string {
	return orNone(sumBy(grew, labels...), labels[0], tells)
}

// underWayOr is what operations tell, by service, kind and phase, with the service in one label; 0 while nothing is under way.
func underWayOr(series string) string {
	return `label_join(` + maxBy(series, phases...) + `, "about", "/", "rookery_namespace", "rookery_service")` +
		` or on() label_replace(0 * ` + string(aLeader) + `, "about", "nothing is under way", "", "")`
}

// quantile is the time or number that a share of what a histogram has counted stayed below, by labels. counted is the buckets, as
// perSecond or grown has them.
func quantile(share float64, counted string, labels ...string) string {
	return fmt.Sprintf("histogram_quantile(%g, %s)", share, sumBy(counted, append([]string{"le"}, labels...)...))
}

// quantiles are the middle and the slow end, as lines.
func quantiles(buckets string) []ask {
	return []ask{
		{quantile(0.5, perSecond(buckets)), "median"},
		{quantile(0.99, perSecond(buckets)), "99 of 100"},
	}
}

// overall are the middle and the slow end of all that is in the time shown, as bars, by a label.
func overall(buckets, label string) []ask {
	return []ask{
		{quantile(0.5, grown(buckets, inRange), label), "{{" + label + "}}, median"},
		{quantile(0.95, grown(buckets, inRange), label), "{{" + label + "}}, 95 of 100"},
	}
}

// ask is one query with the legend of its series, where {{label}} stands for the label's value.
type ask struct{ expr, legend string }
