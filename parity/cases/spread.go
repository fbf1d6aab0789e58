package cases

func (w *caseBuilder) spread(metadata, spec object) {
	if w.chance(0.25) {
		return // default constraints apply
	}
	var out []object
	seen := map[string]bool{}
	for range w.IntN(3) + 1 {
		c := object{"maxSkew": pick(w, 1, 1, 2, 3), "topologyKey": w.topology(), "whenUnsatisfiable": pick(w, "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")}
		id := c["topologyKey"].(string) + c["whenUnsatisfiable"].(string)
		if seen[id] {
			continue // each pair is allowed once
		}
		seen[id] = true
		if s := w.selector(); s != nil {
			c["labelSelector"] = s
			if m, _ := s["matchLabels"].(object); w.chance(0.2) && m["version"] == nil && s["matchExpressions"] == nil {
				c["matchLabelKeys"] = []string{"version"}
			}
		}
		if c["whenUnsatisfiable"] == "DoNotSchedule" && w.chance(0.3) {
			c["minDomains"] = pick(w, 1, 2, 3, 4, 10)
		}
		if w.chance(0.3) {
			c["nodeAffinityPolicy"] = pick(w, "Honor", "Ignore")
		}
		if w.chance(0.3) {
			c["nodeTaintsPolicy"] = pick(w, "Honor", "Ignore")
		}
		out = append(out, c)
	}
	spec["topologySpreadConstraints"] = out
}

// groups makes the Services and workloads whose selectors the default constraints use.
func (w *caseBuilder) groups() {
	p := w.pods[len(w.pods)-1]["metadata"].(object)
	for range w.IntN(3) {
		metadata := object{"name": pick(w, "g1", "g2", "g3"), "namespace": pick(w, "default", "default", "team-a")}
		labels := object{pick(w, "app", "app", "tier"): pick(w, "web", "db", "a")}
		var g object
		switch w.IntN(5) {
		case 0, 1:
			g = manifest("v1", "Service", metadata)
			g["spec"] = object{"selector": labels}
			if w.chance(0.1) {
				g["spec"] = object{}
			}
		case 2:
			g = manifest("v1", "ReplicationController", metadata)
			g["spec"] = object{"selector": labels}
		case 3:
			g = manifest("apps/v1", "ReplicaSet", metadata)
			g["spec"] = object{"selector": w.groupSelector(labels)}
		default:
			g = manifest("apps/v1", "StatefulSet", metadata)
			g["spec"] = object{"selector": w.groupSelector(labels), "serviceName": "x"}
		}
		if w.exists(g) {
			continue
		}
		if w.chance(0.6) && g["kind"] != "Service" {
			p["ownerReferences"] = []object{{"apiVersion": g["apiVersion"], "kind": g["kind"], "name": metadata["name"], "uid": "u", "controller": w.chance(0.85)}}
		}
		w.others = append(w.others, g)
	}
}

func (w *caseBuilder) groupSelector(labels object) object {
	if w.chance(0.2) {
		return object{"matchExpressions": []object{{"key": "app", "operator": "In", "values": []string{"web", "db"}}}}
	}
	return object{"matchLabels": labels}
}

// exists reports whether an object of this kind and name exists already.
func (w *caseBuilder) exists(o object) bool {
	m := o["metadata"].(object)
	for _, other := range w.others {
		n := other["metadata"].(object)
		if other["kind"] == o["kind"] && n["name"] == m["name"] && n["namespace"] == m["namespace"] {
			return true
		}
	}
	return false
}

func (w *caseBuilder) ports(spec object) {
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]object)
		for _, c := range containers {
			if !w.chance(0.5) {
				continue
			}
			port := object{"containerPort": pick(w, 80, 8080), "hostPort": pick(w, 80, 8080, 9090)}
			if w.chance(0.5) {
				port["protocol"] = pick(w, "TCP", "UDP", "SCTP")
			}
			if w.chance(0.5) {
				port["hostIP"] = pick(w, "0.0.0.0", "10.0.0.1", "127.0.0.1", "::", "")
			}
			if w.chance(0.2) {
				delete(port, "hostPort")
			}
			c["ports"] = []object{port}
		}
	}
}
