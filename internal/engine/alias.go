package engine

import (
	"github.com/perdure/perdure/view"
)

// What the engine shows, until all uses name package view.
type (
	Run           = view.Run
	Description   = view.Description
	PendingUpdate = view.Update
	PendingCall   = view.Call
	PausedInfo    = view.Pause
	BaseInfo      = view.Base
	ChainRun      = view.ChainRun
	Parent        = view.Parent
	ChildInfo     = view.Child
	Gate          = view.Gate
	Ticket        = view.Ticket
	GateWait      = view.GateWait
	Schedule      = view.Schedule
	UpcomingFire  = view.UpcomingFire
	Fire          = view.Fire
	ScheduledBy   = view.ScheduledBy
	ActivityStats = view.ActivityStats
	ErrorStats    = view.ErrorStats
	Attempt       = view.Attempt
	AttemptFilter = view.AttemptFilter
	FoundAttempt  = view.FoundAttempt
	CallAttempts  = view.CallAttempts
	Node          = view.Node
	SwitchRecord  = view.SwitchRecord
	ControlRecord = view.ControlRecord
	BulkResult    = view.BulkResult
	SweepResult   = view.SweepResult
	Retention     = view.Retention
	Paused        = view.PausedCall
	Filter        = view.Filter
)
