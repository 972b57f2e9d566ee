"""Has maternity at least fifty patients from 35 on?"""

from duotone import ask

fifty = "select count(distinct patient) >= 50 from stays where ward = 'Maternity' and age >= 35"
print(ask("examples/stays/stays.csv", fifty, epsilon=1, delta="1e-6", unit="patient", types={"age": "number"}))
