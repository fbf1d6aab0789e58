package inside

const callSetns = 308
