count(*) > 100; -- of all
mode(city) = 'Oslo';
