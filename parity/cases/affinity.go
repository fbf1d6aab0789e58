package cases

func (w *caseBuilder) nodeAffinity(spec object) {
	if w.chance(0.35) {
		spec["nodeSelector"] = object{pick(w, "disk", "rack", zone, "gen", "none"): pick(w, "ssd", "a", "z1", "1", "")}
	}
	affinity := object{}
	if w.chance(0.55) {
		var terms []object
		for range w.IntN(3) + 1 {
			terms = append(terms, w.nodeTerm())
		}
		affinity["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": terms}
	}
	if w.chance(0.6) {
		var terms []object
		for range w.IntN(3) + 1 {
			terms = append(terms, object{"weight": pick(w, 1, 2, 10, 50, 100), "preference": w.nodeTerm()})
		}
		affinity["preferredDuringSchedulingIgnoredDuringExecution"] = terms
	}
	if len(affinity) > 0 {
		subObject(spec, "affinity")["nodeAffinity"] = affinity
	}
}

func (w *caseBuilder) nodeTerm() object {
	term := object{}
	if w.chance(0.85) {
		var list []object
		for range w.IntN(2) + 1 {
			list = append(list, w.nodeExpression())
		}
		term["matchExpressions"] = list
	}
	if w.chance(0.15) {
		term["matchFields"] = []object{{"key": "metadata.name", "operator": pick(w, "In", "In", "NotIn"), "values": []string{pick(w, "n01", "n02", "n03", "ghost")}}}
	}
	return term
}

func (w *caseBuilder) nodeExpression() object {
	e := object{"key": pick(w, "disk", "rack", zone, zone, hostname, "gen", "none")}
	switch op := pick(w, "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"); op {
	case "In", "NotIn":
		e["operator"], e["values"] = op, pickSome(w, 1+w.IntN(2), "ssd", "a", "z1", "z2", "z3", "n01", "n02", "", "1")
		if w.chance(0.02) && !w.strict {
			e["values"] = []string{"not a label value!"}
		}
	case "Gt", "Lt":
		e["key"], e["operator"] = pick(w, "gen", "gen", "disk"), op
		e["values"] = []string{pick(w, "1", "2", "5", "11", "07", "0")}
		if w.chance(0.07) && !w.strict {
			e["values"] = []string{pick(w, "x", "1.5", "-4", "")}
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
func (w *caseBuilder) selector() object {
	s := object{}
	if w.chance(0.04) {
		return nil
	}
	if w.chance(0.05) {
		return s
	}
	if w.chance(0.7) {
		s["matchLabels"] = object{pick(w, "app", "app", "tier", "version"): pick(w, "web", "web", "db", "a", "1", "")}
	}
	if len(s) == 0 || w.chance(0.2) {
		e := object{"key": pick(w, "app", "tier", "version"), "operator": pick(w, "In", "NotIn", "Exists", "DoesNotExist")}
		if op := e["operator"]; op == "In" || op == "NotIn" {
			e["values"] = pickSome(w, 1+w.IntN(2), "web", "db", "a", "b", "1", "")
		}
		s["matchExpressions"] = []object{e}
	}
	return s
}

func (w *caseBuilder) topology() string {
	return pick(w, zone, zone, hostname, hostname, region, "rack", "none")
}

func (w *caseBuilder) podTerm(labels object) object {
	t := object{"topologyKey": w.topology()}
	s := w.selector()
	if s != nil {
		t["labelSelector"] = s
	}
	if w.chance(0.3) {
		t["namespaces"] = pickSome(w, 1+w.IntN(2), "default", "team-a", "team-b", "nowhere")
	}
	if w.chance(0.3) {
		t["namespaceSelector"] = pick(w, object{}, object{"matchLabels": object{"team": "a"}}, object{"matchLabels": object{"env": "prod"}},
			object{"matchExpressions": []object{{"key": "team", "operator": "NotIn", "values": []string{"b"}}}})
	}
	if s != nil && w.chance(0.1) {
		w.keyLists(t, s, labels)
	}
	return t
}

// keyLists adds matchLabelKeys or mismatchLabelKeys as the API server stores them: with
// the merged expression.
func (w *caseBuilder) keyLists(term, selector, labels object) {
	value, ok := labels["tier"]
	if !ok {
		return
	}
	if m, ok := selector["matchLabels"].(object); ok && m["tier"] != nil {
		return
	}
	list, operator := "matchLabelKeys", "In"
	if w.chance(0.5) {
		list, operator = "mismatchLabelKeys", "NotIn"
	}
	term[list] = []string{"tier"}
	expressions, _ := selector["matchExpressions"].([]object)
	selector["matchExpressions"] = append(expressions, object{"key": "tier", "operator": operator, "values": []any{value}})
}

func (w *caseBuilder) podAffinity(metadata, spec object) {
	labels := metadata["labels"].(object)
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		a := object{}
		if w.chance(0.35) {
			var terms []object
			for range pick(w, 1, 1, 2) {
				terms = append(terms, w.podTerm(labels))
			}
			a["requiredDuringSchedulingIgnoredDuringExecution"] = terms
		}
		if w.chance(0.35) {
			var terms []object
			for range pick(w, 1, 1, 2, 3) {
				terms = append(terms, object{"weight": pick(w, 1, 5, 50, 100), "podAffinityTerm": w.podTerm(labels)})
			}
			a["preferredDuringSchedulingIgnoredDuringExecution"] = terms
		}
		if len(a) > 0 {
			subObject(spec, "affinity")[kind] = a
		}
	}
}
