package inside

const (
	callSetns    = 308
	callExecveat = 322
)
