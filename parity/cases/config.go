package cases

// configure makes a scheduler configuration with a few changes from the defaults.
func (w *caseBuilder) configure() {
	profile := object{"schedulerName": "default-scheduler"}
	var args []object
	add := func(name string, a object) {
		if a != nil {
			args = append(args, object{"name": name, "args": a})
		}
	}
	add("NodeResourcesFit", w.fitArgs())
	if w.chance(0.3) {
		add("NodeResourcesBalancedAllocation", object{"resources": w.specs(true)})
	}
	if w.chance(0.25) {
		affinity := object{}
		w.strict = true // kube-scheduler rejects malformed arguments
		if w.chance(0.6) {
			affinity["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": []object{w.nodeTerm()}}
		}
		if w.chance(0.6) {
			affinity["preferredDuringSchedulingIgnoredDuringExecution"] = []object{{"weight": 10, "preference": w.nodeTerm()}}
		}
		add("NodeAffinity", object{"addedAffinity": affinity})
		w.strict = false
	}
	if w.chance(0.3) {
		a := object{"hardPodAffinityWeight": pick(w, 0, 1, 10, 100)}
		if w.chance(0.3) {
			a["ignorePreferredTermsOfExistingPods"] = true
		}
		add("InterPodAffinity", a)
	}
	if w.chance(0.3) {
		add("PodTopologySpread", w.spreadArgs())
	}
	if len(args) > 0 {
		profile["pluginConfig"] = args
	}
	if w.chance(0.6) {
		profile["plugins"] = w.plugins()
	}
	profiles := []object{profile}
	if w.chance(0.15) {
		profiles = append(profiles, object{"schedulerName": "second", "plugins": object{"score": object{"disabled": []object{{"name": "*"}}, "enabled": []object{{"name": "NodeResourcesFit", "weight": 3}}}}})
	}
	w.config = object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": profiles}
}

func (w *caseBuilder) fitArgs() object {
	if w.chance(0.3) {
		return nil
	}
	strategy := object{"type": pick(w, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"), "resources": w.specs(false)}
	if strategy["type"] == "RequestedToCapacityRatio" {
		strategy["requestedToCapacityRatio"] = object{"shape": pick(w,
			[]object{{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}},
			[]object{{"utilization": 0, "score": 10}, {"utilization": 50, "score": 5}, {"utilization": 100, "score": 0}},
			[]object{{"utilization": 30, "score": 3}, {"utilization": 80, "score": 10}},
			[]object{{"utilization": 50, "score": 7}})}
	}
	a := object{"scoringStrategy": strategy}
	if w.chance(0.2) {
		a["ignoredResources"] = []string{"example.com/gpu"}
	}
	if w.chance(0.2) {
		a["ignoredResourceGroups"] = []string{pick(w, "example.com", "other.org")}
	}
	return a
}

func (w *caseBuilder) specs(unit bool) []object {
	var out []object
	for _, name := range pickSome(w, 1+w.IntN(4), "cpu", "memory", "example.com/gpu", "ephemeral-storage", "hugepages-2Mi", "none.org/y") {
		weight := pick(w, 1, 2, 5, 100)
		if unit {
			weight = 1
		}
		out = append(out, object{"name": name, "weight": weight})
	}
	return out
}

func (w *caseBuilder) spreadArgs() object {
	if w.chance(0.2) {
		return object{"defaultingType": "System"}
	}
	a := object{"defaultingType": "List"}
	var list []object
	for _, key := range pickSome(w, w.IntN(3), zone, hostname, "rack") {
		list = append(list, object{"maxSkew": pick(w, 1, 2, 3), "topologyKey": key, "whenUnsatisfiable": pick(w, "DoNotSchedule", "ScheduleAnyway")})
	}
	if len(list) > 0 {
		a["defaultConstraints"] = list
	}
	return a
}

var scorers = []string{"TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality"}

// plugins disables some plugins and changes the weights of others, in all the forms of a
// file.
func (w *caseBuilder) plugins() object {
	out := object{}
	if w.chance(0.5) {
		name := pick(w, scorers...)
		out["score"] = object{"disabled": []object{{"name": name}}, "enabled": []object{{"name": name, "weight": pick(w, 1, 2, 7, 100)}}}
		if w.chance(0.3) {
			out["score"] = object{"disabled": []object{{"name": name}}}
		}
		if w.chance(0.1) {
			out["score"] = object{"disabled": []object{{"name": "*"}}}
		}
	}
	if w.chance(0.4) {
		out["filter"] = object{"disabled": []object{{"name": pick(w, "TaintToleration", "NodeUnschedulable", "NodePorts", "NodeResourcesFit", "NodeAffinity", "InterPodAffinity", "PodTopologySpread")}}}
	}
	if w.chance(0.3) && out["score"] == nil {
		// With score it could enable Score of a plugin without its PreScore, which makes every
		// attempt fail.
		out["multiPoint"] = object{"disabled": []object{{"name": pick(w, "NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity", "PodTopologySpread", "TaintToleration", "NodeAffinity")}}}
	} else if w.chance(0.2) {
		out["multiPoint"] = object{"enabled": []object{{"name": pick(w, scorers...), "weight": pick(w, 2, 9)}}}
	}
	return out
}
