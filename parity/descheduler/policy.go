package main

import (
	"encoding/json"
	"fmt"
	"slices"
)

// plugin is a strategy and its arguments.
type plugin struct{ name, args string }

// balancing lists the strategies of the extension point balance. All others deschedule.
var balancing = []string{"RemoveDuplicates", "LowNodeUtilization", "HighNodeUtilization", "RemovePodsViolatingTopologySpreadConstraint"}

// policy returns a policy with a profile for each plugin, so that the evictions of each are counted.
func policy(nodeFit bool, plugins ...plugin) json.RawMessage {
	type object = map[string]any
	var profiles []object
	for _, p := range plugins {
		point := "deschedule"
		if slices.Contains(balancing, p.name) {
			point = "balance"
		}
		profiles = append(profiles, object{"name": p.name,
			"pluginConfig": []object{
				{"name": "DefaultEvictor", "args": object{"nodeFit": nodeFit}},
				{"name": p.name, "args": json.RawMessage(p.args)}},
			"plugins": object{point: object{"enabled": []string{p.name}}}})
	}
	raw, err := json.Marshal(object{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": profiles})
	if err != nil {
		panic(fmt.Sprintf("encoding a policy: %v", err)) // all policies are constants
	}
	return raw
}

const (
	spreadName = "RemovePodsViolatingTopologySpreadConstraint"
	lowArgs    = `{"thresholds":{"cpu":20,"memory":20,"pods":20},"targetThresholds":{"cpu":63,"memory":63,"pods":63}}`
)
