package config

// Holds holds the options for Avoid Holds.
type Holds struct {
	Avoid          bool `json:"avoid" doc:"Whether an owner's pods avoid a node that evicted or rejected one of them, by taint, node pressure, admission or shutdown. They avoid it for a growing time, until the cause ends. false: they may return at once, as in Kubernetes."`
	InitialSeconds int  `json:"initialSeconds" doc:"Initial duration, 1 to 3600; it doubles each time."`
	MaxSeconds     int  `json:"maxSeconds" doc:"Maximum duration, initialSeconds to 86400."`
}

func defaultHolds() Holds { return Holds{Avoid: true, InitialSeconds: 10, MaxSeconds: 600} }

func (h *Holds) validate(requireRange func(path string, v, low, high int)) {
	requireRange("holds.initialSeconds", h.InitialSeconds, 1, 3600)
	requireRange("holds.maxSeconds", h.MaxSeconds, max(1, min(h.InitialSeconds, 3600)), 86400)
}
