"""Any question at all, asked of parts of the people: in most of them, is it so?

`question` is what is asked, `division` divides people into parts, `isolation` asks one part in a process of its own;
`inside` is what runs there, `sandbox` the lock on it. The level is in `questions.by_parts`.
"""
