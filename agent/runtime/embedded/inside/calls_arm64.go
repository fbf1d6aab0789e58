package inside

const callSetns = 268
