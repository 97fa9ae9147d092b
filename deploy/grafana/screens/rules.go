package screens

import (
	"bytes"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// ruleFile is the form of rules that Prometheus reads.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// rules writes all alerts in one group.
func rules() ([]byte, error) {
	group := ruleGroup{Name: tag}
	for _, a := range alerts {
		group.Rules = append(group.Rules, rule{
			Alert: a.name, Expr: a.expr, For: prometheusDuration(a.lasts),
			Labels:      map[string]string{"severity": string(a.severity)},
			Annotations: map[string]string{"summary": a.summary, "description": a.description, "runbook": a.runbook},
		})
	}
	var b bytes.Buffer
	b.WriteString("# Written by make dashboards from deploy/grafana/screens/alerts.go.\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(ruleFile{Groups: []ruleGroup{group}})
	return b.Bytes(), err
}

// prometheusDuration writes a duration in seconds, or in minutes if it is a whole number of minutes.
func prometheusDuration(d time.Duration) string {
	if d%time.Minute == 0 {
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return strconv.Itoa(int(d/time.Second)) + "s"
}
