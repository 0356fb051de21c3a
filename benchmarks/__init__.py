"""The offline benchmark: `python -m benchmarks --data DIR`. See README.md for what it measured.

Where to look, by what is asked:

- suites, every attack against every defence: `suites/` says which cells, `suite_command` runs them
  with `cells`, `measuring` and `retrieval`, `plugins` finds what is in `attacks/`, `defences/`,
  `attributors/` and `readers/`, and `report/` makes the tables and the page;
- sections: `inline` (clean, attack), `attribution` and `cost`, started by `__main__`;
- one question each: `protocol`, `languages`, `query_forms`, `layouts`, `worded`, `wrapped`,
  `false_reports`, `near_copies`, `holding_cost` and `admission`;
- what the parts of the score are worth: `signal_worth` and `unseen_manner`;
- what is shipped: `fit_class_bigram`, `fit_manner`, `fit_suspicion`, `make_calibration`,
  `fit_admission` and `make_reference`, with `samples`;
- what all share: `datasets/`, `embedders`, `forms` of the question, `misgeneration` (wrong answers
  and who is to blame), `metrics/`, `command` (options and result), `tables` (pages).
"""
