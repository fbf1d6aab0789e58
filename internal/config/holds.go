package config

// Holds holds the options of the Holds that keep pods off nodes.
type Holds struct {
	Avoid        bool `json:"avoid" doc:"Whether an owner's pods stay off a node that has thrown one of them out (by taint, pressure, admission or shutdown) for a growing time, until the cause ends. false: they come straight back, as with Kubernetes."`
	FirstSeconds int  `json:"firstSeconds" doc:"How long the first time, 1 to 3600; it doubles each time."`
	MostSeconds  int  `json:"mostSeconds" doc:"How long at most, firstSeconds to 86400."`
}

func defaultHolds() Holds { return Holds{Avoid: true, FirstSeconds: 10, MostSeconds: 600} }

func (h *Holds) validate(within func(path string, v, low, high int)) {
	within("holds.firstSeconds", h.FirstSeconds, 1, 3600)
	within("holds.mostSeconds", h.MostSeconds, max(1, min(h.FirstSeconds, 3600)), 86400)
}
