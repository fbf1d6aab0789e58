package cases

func (b *caseBuilder) nodeAffinity(spec object) {
	if b.chance(0.35) {
		spec["nodeSelector"] = object{pick(b, "disk", "rack", zone, "gen", "none"): pick(b, "ssd", "a", "z1", "1", "")}
	}
	affinity := object{}
	if b.chance(0.55) {
		var terms []object
		for range b.IntN(3) + 1 {
			terms = append(terms, b.nodeTerm())
		}
		affinity["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": terms}
	}
	if b.chance(0.6) {
		var terms []object
		for range b.IntN(3) + 1 {
			terms = append(terms, object{"weight": pick(b, 1, 2, 10, 50, 100), "preference": b.nodeTerm()})
		}
		affinity["preferredDuringSchedulingIgnoredDuringExecution"] = terms
	}
	if len(affinity) > 0 {
		subObject(spec, "affinity")["nodeAffinity"] = affinity
	}
}

func (b *caseBuilder) nodeTerm() object {
	term := object{}
	if b.chance(0.85) {
		var list []object
		for range b.IntN(2) + 1 {
			list = append(list, b.nodeExpression())
		}
		term["matchExpressions"] = list
	}
	if b.chance(0.15) {
		term["matchFields"] = []object{{"key": "metadata.name", "operator": pick(b, "In", "In", "NotIn"), "values": []string{pick(b, "n01", "n02", "n03", "ghost")}}}
	}
	return term
}

func (b *caseBuilder) nodeExpression() object {
	e := object{"key": pick(b, "disk", "rack", zone, zone, hostname, "gen", "none")}
	switch op := pick(b, "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"); op {
	case "In", "NotIn":
		e["operator"], e["values"] = op, pickSome(b, 1+b.IntN(2), "ssd", "a", "z1", "z2", "z3", "n01", "n02", "", "1")
		if b.chance(0.02) && !b.strict {
			e["values"] = []string{"not a label value!"}
		}
	case "Gt", "Lt":
		e["key"], e["operator"] = pick(b, "gen", "gen", "disk"), op
		e["values"] = []string{pick(b, "1", "2", "5", "11", "07", "0")}
		if b.chance(0.07) && !b.strict {
			e["values"] = []string{pick(b, "x", "1.5", "-4", "")}
		}
	default:
		e["operator"] = op
	}
	return e
}

// subObject returns a nested object, which it creates if necessary.
func subObject(of object, name string) object {
	inner, ok := of[name].(object)
	if !ok {
		inner = object{}
		of[name] = inner
	}
	return inner
}

// selector returns a label selector of pods. nil selects nothing, an empty one everything.
func (b *caseBuilder) selector() object {
	s := object{}
	if b.chance(0.04) {
		return nil
	}
	if b.chance(0.05) {
		return s
	}
	if b.chance(0.7) {
		s["matchLabels"] = object{pick(b, "app", "app", "tier", "version"): pick(b, "web", "web", "db", "a", "1", "")}
	}
	if len(s) == 0 || b.chance(0.2) {
		e := object{"key": pick(b, "app", "tier", "version"), "operator": pick(b, "In", "NotIn", "Exists", "DoesNotExist")}
		if op := e["operator"]; op == "In" || op == "NotIn" {
			e["values"] = pickSome(b, 1+b.IntN(2), "web", "db", "a", "b", "1", "")
		}
		s["matchExpressions"] = []object{e}
	}
	return s
}

func (b *caseBuilder) topology() string {
	return pick(b, zone, zone, hostname, hostname, region, "rack", "none")
}

func (b *caseBuilder) podTerm(labels object) object {
	t := object{"topologyKey": b.topology()}
	s := b.selector()
	if s != nil {
		t["labelSelector"] = s
	}
	if b.chance(0.3) {
		t["namespaces"] = pickSome(b, 1+b.IntN(2), "default", "team-a", "team-b", "nowhere")
	}
	if b.chance(0.3) {
		t["namespaceSelector"] = pick(b, object{}, object{"matchLabels": object{"team": "a"}}, object{"matchLabels": object{"env": "prod"}},
			object{"matchExpressions": []object{{"key": "team", "operator": "NotIn", "values": []string{"b"}}}})
	}
	if s != nil && b.chance(0.1) {
		b.keyLists(t, s, labels)
	}
	return t
}

// keyLists adds matchLabelKeys or mismatchLabelKeys as the API server stores them: with
// the merged expression.
func (b *caseBuilder) keyLists(term, selector, labels object) {
	value, ok := labels["tier"]
	if !ok {
		return
	}
	if m, ok := selector["matchLabels"].(object); ok && m["tier"] != nil {
		return
	}
	list, operator := "matchLabelKeys", "In"
	if b.chance(0.5) {
		list, operator = "mismatchLabelKeys", "NotIn"
	}
	term[list] = []string{"tier"}
	expressions, _ := selector["matchExpressions"].([]object)
	selector["matchExpressions"] = append(expressions, object{"key": "tier", "operator": operator, "values": []any{value}})
}

func (b *caseBuilder) podAffinity(metadata, spec object) {
	labels := metadata["labels"].(object)
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		a := object{}
		if b.chance(0.35) {
			var terms []object
			for range pick(b, 1, 1, 2) {
				terms = append(terms, b.podTerm(labels))
			}
			a["requiredDuringSchedulingIgnoredDuringExecution"] = terms
		}
		if b.chance(0.35) {
			var terms []object
			for range pick(b, 1, 1, 2, 3) {
				terms = append(terms, object{"weight": pick(b, 1, 5, 50, 100), "podAffinityTerm": b.podTerm(labels)})
			}
			a["preferredDuringSchedulingIgnoredDuringExecution"] = terms
		}
		if len(a) > 0 {
			subObject(spec, "affinity")[kind] = a
		}
	}
}
