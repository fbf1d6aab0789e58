package config

// Holds holds the options for Avoid Holds.
type Holds struct {
	Avoid        bool `json:"avoid" doc:"Whether an owner's pods avoid a node that evicted or rejected one of them (by taint, node pressure, admission or shutdown) for a growing time, until the cause ends. false: they may return at once, as in Kubernetes."`
	FirstSeconds int  `json:"firstSeconds" doc:"Initial duration, 1 to 3600; it doubles each time."`
	MostSeconds  int  `json:"mostSeconds" doc:"Maximum duration, firstSeconds to 86400."`
}

func defaultHolds() Holds { return Holds{Avoid: true, FirstSeconds: 10, MostSeconds: 600} }

func (h *Holds) validate(within func(path string, v, low, high int)) {
	within("holds.firstSeconds", h.FirstSeconds, 1, 3600)
	within("holds.mostSeconds", h.MostSeconds, max(1, min(h.FirstSeconds, 3600)), 86400)
}
