package main

import (
	"strings"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// statusMood returns the mood of an instance's status.
func statusMood(status string) grid.Mood {
	switch status {
	case "online", "completed":
		return grid.Good
	case "offline", "lost", "failed", views.StatusCrashLooping:
		return grid.Bad
	case views.StateSuspended:
		return grid.Quiet
	}
	return grid.Changing
}

// serviceMood returns the mood of a service's state.
func serviceMood(state string) grid.Mood {
	switch state {
	case views.StateRunning, views.StateCompleted:
		return grid.Good
	case views.StateFailed, views.StatePaused, views.StatePending, views.StateShunned:
		return grid.Bad
	case views.StateSuspended, views.StateIdle, views.StateScheduled:
		return grid.Quiet
	}
	return grid.Changing
}

// nodeMood returns the mood of a node's state.
func nodeMood(state projections.NodeState) grid.Mood {
	switch state {
	case projections.NodeReady:
		return grid.Good
	case projections.NodeSilent, projections.NodeDraining, projections.NodePaused:
		return grid.Changing
	case projections.NodeDrained, projections.NodeAway, projections.NodeForgotten, projections.NodeRevoked:
		return grid.Quiet
	case projections.NodeLost, projections.NodeDegraded, projections.NodeNotAllowed:
	}
	return grid.Bad
}

// operationMood returns the mood of an operation in progress or ended.
func operationMood(op views.ServiceOperation) grid.Mood {
	switch {
	case op.Outcome == events.OperationDone:
		return grid.Good
	case op.Outcome == events.OperationSuperseded:
		return grid.Quiet
	case op.Outcome != "" || op.Paused != "":
		return grid.Bad
	}
	return grid.Changing
}

// eventMood returns the mood of an event with this name.
func eventMood(word string) grid.Mood {
	_, name, _ := strings.Cut(word, ".")
	switch name {
	case "online", "succeeded", "returned", "recovered", "completed", "resumed":
		return grid.Good
	case "offline", "failed", "rejected", "lost", "aborted", "refused", "degraded", "misfits", "void":
		return grid.Bad
	case "pending", "paused", "silent", "superseded", "draining", "skipped", "queued":
		return grid.Changing
	}
	return grid.Neutral
}
