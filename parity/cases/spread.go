package cases

func (b *caseBuilder) spread(metadata, spec object) {
	if b.chance(0.25) {
		return // default constraints apply
	}
	var out []object
	seen := map[string]bool{}
	for range b.IntN(3) + 1 {
		c := object{"maxSkew": pick(b, 1, 1, 2, 3), "topologyKey": b.topology(), "whenUnsatisfiable": pick(b, "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")}
		id := c["topologyKey"].(string) + c["whenUnsatisfiable"].(string)
		if seen[id] {
			continue // each pair is allowed once
		}
		seen[id] = true
		if s := b.selector(); s != nil {
			c["labelSelector"] = s
			if m, _ := s["matchLabels"].(object); b.chance(0.2) && m["version"] == nil && s["matchExpressions"] == nil {
				c["matchLabelKeys"] = []string{"version"}
			}
		}
		if c["whenUnsatisfiable"] == "DoNotSchedule" && b.chance(0.3) {
			c["minDomains"] = pick(b, 1, 2, 3, 4, 10)
		}
		if b.chance(0.3) {
			c["nodeAffinityPolicy"] = pick(b, "Honor", "Ignore")
		}
		if b.chance(0.3) {
			c["nodeTaintsPolicy"] = pick(b, "Honor", "Ignore")
		}
		out = append(out, c)
	}
	spec["topologySpreadConstraints"] = out
}

// groups makes the Services and workloads whose selectors the default constraints use.
func (b *caseBuilder) groups() {
	p := b.pods[len(b.pods)-1]["metadata"].(object)
	for range b.IntN(3) {
		metadata := object{"name": pick(b, "g1", "g2", "g3"), "namespace": pick(b, "default", "default", "team-a")}
		labels := object{pick(b, "app", "app", "tier"): pick(b, "web", "db", "a")}
		var g object
		switch b.IntN(5) {
		case 0, 1:
			g = manifest("v1", "Service", metadata)
			g["spec"] = object{"selector": labels}
			if b.chance(0.1) {
				g["spec"] = object{}
			}
		case 2:
			g = manifest("v1", "ReplicationController", metadata)
			g["spec"] = object{"selector": labels}
		case 3:
			g = manifest("apps/v1", "ReplicaSet", metadata)
			g["spec"] = object{"selector": b.groupSelector(labels)}
		default:
			g = manifest("apps/v1", "StatefulSet", metadata)
			g["spec"] = object{"selector": b.groupSelector(labels), "serviceName": "x"}
		}
		if b.exists(g) {
			continue
		}
		if b.chance(0.6) && g["kind"] != "Service" {
			p["ownerReferences"] = []object{{"apiVersion": g["apiVersion"], "kind": g["kind"], "name": metadata["name"], "uid": "u", "controller": b.chance(0.85)}}
		}
		b.others = append(b.others, g)
	}
}

func (b *caseBuilder) groupSelector(labels object) object {
	if b.chance(0.2) {
		return object{"matchExpressions": []object{{"key": "app", "operator": "In", "values": []string{"web", "db"}}}}
	}
	return object{"matchLabels": labels}
}

// exists reports whether an object of this kind and name exists already.
func (b *caseBuilder) exists(o object) bool {
	m := o["metadata"].(object)
	for _, other := range b.others {
		n := other["metadata"].(object)
		if other["kind"] == o["kind"] && n["name"] == m["name"] && n["namespace"] == m["namespace"] {
			return true
		}
	}
	return false
}

func (b *caseBuilder) ports(spec object) {
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]object)
		for _, c := range containers {
			if !b.chance(0.5) {
				continue
			}
			port := object{"containerPort": pick(b, 80, 8080), "hostPort": pick(b, 80, 8080, 9090)}
			if b.chance(0.5) {
				port["protocol"] = pick(b, "TCP", "UDP", "SCTP")
			}
			if b.chance(0.5) {
				port["hostIP"] = pick(b, "0.0.0.0", "10.0.0.1", "127.0.0.1", "::", "")
			}
			if b.chance(0.2) {
				delete(port, "hostPort")
			}
			c["ports"] = []object{port}
		}
	}
}
