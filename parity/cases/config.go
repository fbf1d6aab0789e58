package cases

// configure makes a scheduler configuration with a few changes from the defaults.
func (b *caseBuilder) configure() {
	profile := object{"schedulerName": "default-scheduler"}
	var args []object
	add := func(name string, a object) {
		if a != nil {
			args = append(args, object{"name": name, "args": a})
		}
	}
	add("NodeResourcesFit", b.fitArgs())
	if b.chance(0.3) {
		add("NodeResourcesBalancedAllocation", object{"resources": b.specs(true)})
	}
	if b.chance(0.25) {
		affinity := object{}
		b.strict = true // kube-scheduler rejects malformed arguments
		if b.chance(0.6) {
			affinity["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": []object{b.nodeTerm()}}
		}
		if b.chance(0.6) {
			affinity["preferredDuringSchedulingIgnoredDuringExecution"] = []object{{"weight": 10, "preference": b.nodeTerm()}}
		}
		add("NodeAffinity", object{"addedAffinity": affinity})
		b.strict = false
	}
	if b.chance(0.3) {
		a := object{"hardPodAffinityWeight": pick(b, 0, 1, 10, 100)}
		if b.chance(0.3) {
			a["ignorePreferredTermsOfExistingPods"] = true
		}
		add("InterPodAffinity", a)
	}
	if b.chance(0.3) {
		add("PodTopologySpread", b.spreadArgs())
	}
	if len(args) > 0 {
		profile["pluginConfig"] = args
	}
	if b.chance(0.6) {
		profile["plugins"] = b.plugins()
	}
	profiles := []object{profile}
	if b.chance(0.15) {
		profiles = append(profiles, object{"schedulerName": "second", "plugins": object{"score": object{"disabled": []object{{"name": "*"}}, "enabled": []object{{"name": "NodeResourcesFit", "weight": 3}}}}})
	}
	b.config = object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles}
}

func (b *caseBuilder) fitArgs() object {
	if b.chance(0.3) {
		return nil
	}
	strategy := object{"type": pick(b, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"), "resources": b.specs(false)}
	if strategy["type"] == "RequestedToCapacityRatio" {
		strategy["requestedToCapacityRatio"] = object{"shape": pick(b,
			[]object{{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}},
			[]object{{"utilization": 0, "score": 10}, {"utilization": 50, "score": 5}, {"utilization": 100, "score": 0}},
			[]object{{"utilization": 30, "score": 3}, {"utilization": 80, "score": 10}},
			[]object{{"utilization": 50, "score": 7}})}
	}
	a := object{"scoringStrategy": strategy}
	if b.chance(0.2) {
		a["ignoredResources"] = []string{"example.com/gpu"}
	}
	if b.chance(0.2) {
		a["ignoredResourceGroups"] = []string{pick(b, "example.com", "other.org")}
	}
	return a
}

func (b *caseBuilder) specs(unit bool) []object {
	var out []object
	for _, name := range pickSome(b, 1+b.IntN(4), "cpu", "memory", "example.com/gpu", "ephemeral-storage", "hugepages-2Mi", "none.org/y") {
		weight := pick(b, 1, 2, 5, 100)
		if unit {
			weight = 1
		}
		out = append(out, object{"name": name, "weight": weight})
	}
	return out
}

func (b *caseBuilder) spreadArgs() object {
	if b.chance(0.2) {
		return object{"defaultingType": "System"}
	}
	a := object{"defaultingType": "List"}
	var list []object
	for _, key := range pickSome(b, b.IntN(3), zone, hostname, "rack") {
		list = append(list, object{"maxSkew": pick(b, 1, 2, 3), "topologyKey": key, "whenUnsatisfiable": pick(b, "DoNotSchedule", "ScheduleAnyway")})
	}
	if len(list) > 0 {
		a["defaultConstraints"] = list
	}
	return a
}

var scorers = []string{"TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality"}

// plugins disables some plugins and changes the weights of others, in all the forms of a
// file.
func (b *caseBuilder) plugins() object {
	out := object{}
	if b.chance(0.5) {
		name := pick(b, scorers...)
		out["score"] = object{"disabled": []object{{"name": name}}, "enabled": []object{{"name": name, "weight": pick(b, 1, 2, 7, 100)}}}
		if b.chance(0.3) {
			out["score"] = object{"disabled": []object{{"name": name}}}
		}
		if b.chance(0.1) {
			out["score"] = object{"disabled": []object{{"name": "*"}}}
		}
	}
	if b.chance(0.4) {
		out["filter"] = object{"disabled": []object{{"name": pick(b, "TaintToleration", "NodeUnschedulable", "NodePorts", "NodeResourcesFit", "NodeAffinity", "InterPodAffinity", "PodTopologySpread")}}}
	}
	if b.chance(0.3) && out["score"] == nil {
		// With score it could enable Score of a plugin without its PreScore, which makes every
		// attempt fail.
		out["multiPoint"] = object{"disabled": []object{{"name": pick(b, "NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity")}}}
	} else if b.chance(0.2) {
		out["multiPoint"] = object{"enabled": []object{{"name": pick(b, scorers...), "weight": pick(b, 2, 9)}}}
	}
	return out
}
