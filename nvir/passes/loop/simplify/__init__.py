"""The form that loop passes expect: canonical, rotated, peeled."""
