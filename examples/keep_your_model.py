"""Keep your model: a gradient-boosted pipeline on Adult that misses women and men equally often.

The protected attribute is used to train and to measure, never to predict.
"""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from fairalm import EqualOpportunity, FairALMClassifier
from fairalm.datasets import load_adult, preprocess, split
from fairalm.measures import measure_all

data = load_adult()
train, test = split(data.y, data.groups, random_state=0)
X_train, X_test = data.X.iloc[train], data.X.iloc[test]
y_train, y_test = data.y[train], data.y[test]
sex_train, sex_test = data.groups.iloc[train], data.groups.iloc[test]

plain = make_pipeline(preprocess(X_train), HistGradientBoostingClassifier(max_iter=50, random_state=0))
fair = FairALMClassifier(plain, constraint=EqualOpportunity(tol=0.01), random_state=0)

plain.fit(X_train, y_train)
fair.fit(X_train, y_train, sensitive_features=sex_train)

for name, model in (("plain", plain), ("fair", fair)):
    measures = measure_all(y_test, model.predict(X_test), sensitive_features=sex_test)
    print(f"{name:6} error {measures['error']}   DEO {measures['deo']}")
print(f"fits: {fair.n_oracle_calls_}; training gap: {100 * fair.gap_:.2f} points")
